// ashlar replay as a user meets it: traces written here, allocators that are sound or planted, tables and JSON out.
#include <nlohmann/json.hpp>
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include "tools/trace/trace_test_files.hpp"

namespace {

using namespace support;
using ashlar::trace::event;
using ashlar::trace::event_kind;
using ashlar::trace::test::birth;
using ashlar::trace::test::death;
using json = nlohmann::json;
using ended = finished_command;

const std::string library = ASHLAR_TEST_LIBRARY;
const std::string planted_malloc = PLANTED_MALLOC;

class Replay : public CommandInFolder {
 protected:
  ~Replay() override { EXPECT_TRUE(left_nothing_behind()); }

  std::string write(const std::string& name, const std::string& bytes) const {
    write_file(path(name), bytes);
    return path(name);
  }
  std::string write_trace(const std::vector<event>& events) const {
    return write("a.atrace", ashlar::trace::test::written(events));
  }

  // With --json: what that says of the only target.
  json outcome(const std::string& trace, const std::string& on, int exit_status,
               const std::string& planted = "none", const words& more = {}) {
    words arguments =
        words{"replay", trace, "--on", on, "-n", "1", "--json=" + path("replay.json")} + more;
    environment_ = {{"PLANTED", planted}};
    const ended result = command(arguments);
    EXPECT_EQ(result.exit_status(), exit_status) << result.out << result.err;
    said_ = result.out;
    const json all = json::parse(read_file(path("replay.json")), nullptr, false);
    if (!all.is_object()) return json::object();
    return all.at("outcomes").at(0);
  }

  std::string said_;
};

// Every kind of call, among them with blocks of the planted size; 9 of those are alive at once.
std::vector<event> all_kinds() {
  std::vector<event> events;
  std::uint64_t time = 0;
  const auto add = [&](event e) {
    e.time = ++time;
    events.push_back(e);
  };
  const auto born = [&](event_kind kind, std::uint64_t address, std::uint64_t size,
                        std::uint64_t alignment = 0) {
    add({kind, 1, 0, 0, address, size, alignment, {}});
  };
  for (std::uint64_t i = 0; i < 9; ++i) born(event_kind::by_malloc, 0x10000 + i * 0x1000, 777);
  born(event_kind::by_calloc, 0x20000, 777);
  born(event_kind::by_aligned, 0x21000, 777, 256);
  born(event_kind::by_new, 0x22000, 300);
  add({event_kind::from_realloc, 1, 0, 0, 0x22000, 0, 0, {}});
  born(event_kind::by_realloc, 0x23000, 777);
  born(event_kind::by_malloc, 0x24000, 0);
  for (std::uint64_t i = 0; i < 8; ++i) add(death(1, 0, 0x10000 + i * 0x1000));
  for (const std::uint64_t address : {0x20000u, 0x21000u, 0x23000u, 0x24000u})
    add(death(1, 0, address));
  return events;  // the ninth block lives at the end
}

TEST_F(Replay, ASoundAllocatorHasNoFaultAndEveryFigure) {
  const std::string trace = write_trace(all_kinds());
  for (const std::string& on : {std::string("system"), planted_malloc}) {
    const json found = outcome(trace, on, 0);
    EXPECT_EQ(found.at("operations"), 27);
    EXPECT_EQ(found.at("births"), 14);
    EXPECT_EQ(found.at("deaths"), 13);
    EXPECT_EQ(found.at("threads"), 1);
    for (const char* none :
         {"failures", "corrupted_blocks", "not_zero_blocks", "misaligned_blocks"})
      EXPECT_EQ(found.at(none), 0) << none;
    EXPECT_EQ(found.at("latencies").at("malloc").at("calls"), 11);
    EXPECT_EQ(found.at("latencies").at("realloc").at("calls"), 1);
    EXPECT_EQ(found.at("latencies").at("free").at("calls"), 12);
    EXPECT_GT(found.at("wall_seconds").at("median"), 0);
    has(said_, "14 births, 13 deaths; 1 thread");
  }
}

TEST_F(Replay, SlackIsOfTheMomentWithTheMostBytes) {
  // 10 blocks of 100 bytes, then they die, then one of 50: the peak is 1000 bytes.
  std::vector<event> events;
  for (std::uint64_t i = 0; i < 10; ++i) events.push_back(birth(1, i, 0x1000 + 256 * i, 100));
  for (std::uint64_t i = 0; i < 10; ++i) events.push_back(death(1, 20 + i, 0x1000 + 256 * i));
  events.push_back(birth(1, 40, 0x1000, 50));
  const json slack = outcome(write_trace(events), "system", 0).at("slack");
  EXPECT_EQ(slack.at("requested_bytes"), 1050);
  EXPECT_EQ(slack.at("peak_requested_bytes"), 1000);
  EXPECT_GE(slack.at("usable_bytes_at_peak"), 1000);
  EXPECT_LT(slack.at("usable_bytes_at_peak"), 2000);
}

TEST_F(Replay, AnAllocatorWithoutASizeOfItsOwnHasNoSlack) {
  EXPECT_FALSE(outcome(write_trace(all_kinds()), planted_malloc, 0).contains("slack"));
}

TEST_F(Replay, AnAllocatorsPathMayHaveWhatTheLoaderCannotBeTold) {
  std::filesystem::create_directory(path("a b:c"));
  std::filesystem::copy_file(planted_malloc, path("a b:c/planted.so"));
  EXPECT_EQ(outcome(write_trace(all_kinds()), path("a b:c/planted.so"), 0).at("failures"), 0);
  const ended planted = command({"replay", path("a.atrace"), "--on", "nosuch.so"});
  has(planted.err, "--on nosuch.so: there is no library");
}

TEST_F(Replay, WhatAPlantedAllocatorDoesWrongIsReported) {
  const std::string trace = write_trace(all_kinds());
  json found = outcome(trace, planted_malloc, 1, "corrupt");
  EXPECT_EQ(found.at("corrupted_blocks"), 1);
  has(said_, "a block of 777 bytes, at operation");
  found = outcome(trace, planted_malloc, 1, "same");
  EXPECT_GE(found.at("corrupted_blocks"), 8);
  found = outcome(trace, planted_malloc, 1, "null");
  EXPECT_EQ(found.at("failures"), 3);
  EXPECT_EQ(found.at("corrupted_blocks"), 0);
  has(said_, "3 requests got no block");
  found = outcome(trace, planted_malloc, 1, "dirty");
  EXPECT_EQ(found.at("not_zero_blocks"), 1);
  found = outcome(trace, planted_malloc, 1, "crooked");
  EXPECT_EQ(found.at("misaligned_blocks"), 1);
  found = outcome(trace, planted_malloc, 1, "forgets");
  EXPECT_EQ(found.at("corrupted_blocks"), 1);
  found = outcome(trace, planted_malloc, 1, "crash");
  has(found.at("worker_failure"), "SIGABRT");
  has(said_, "the worker failed");
}

TEST_F(Replay, WhatLivesAtTheEndIsCheckedToo) {
  std::vector<event> events;
  for (std::uint64_t i = 0; i < 6; ++i) events.push_back(birth(1, i, 0x1000 + 1024 * i, 777));
  const json found = outcome(write_trace(events), planted_malloc, 1, "corrupt");
  EXPECT_EQ(found.at("corrupted_blocks"), 1);
  has(said_, "lives at the end");
}

TEST_F(Replay, AHandOverBetweenThreadsKeepsItsOrder) {
  // Thread 1 makes, thread 2 gives back, then thread 3, which begins when thread 2 has ended, does; and blocks of the
  // planted size make the stamps count.
  std::vector<event> events;
  std::uint64_t time = 0;
  const auto add = [&](event e) {
    e.time = ++time;
    events.push_back(e);
  };
  for (std::uint64_t round = 0; round < 2000; ++round) {
    const std::uint64_t address = 0x1000 + 4096 * (round % 50);
    const auto other_thread = static_cast<std::uint32_t>(round < 1000 ? 2 : 3);
    add(birth(1, 0, address, 777));
    add({event_kind::from_realloc, other_thread, 0, 0, address, 0, 0, {}});
    add({event_kind::by_realloc, other_thread, 0, 0, address + 1024, 900, 0, {}});
    add(death(1, 0, address + 1024));
    if (round == 999) add(ashlar::trace::test::other(event_kind::thread_exit, 2, 0));
  }
  const json found = outcome(write_trace(events), "system", 0, "none", {"--touch", "all"});
  EXPECT_EQ(found.at("threads"), 3);
  EXPECT_EQ(found.at("operations"), 8000);
  EXPECT_EQ(found.at("slots"), 1);  // one block at a time: every operation waits for the one before
  EXPECT_GT(found.at("waits").at("max"), 0);
  has(said_, "3 threads, at most 2 at once");
}

// Each makes a block that another one gives back, or nobody. More threads are not there at once than the trace had: the
// worker has room for as many.
TEST_F(Replay, ThreadsThatComeAndGoInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<event> events;
    std::vector<std::uint32_t> running;
    std::vector<std::uint64_t> blocks;
    std::uint32_t begun = 0;
    for (std::uint64_t time = 1; time <= 1000; ++time) {
      const std::uint64_t what = random() % 100;
      if (running.empty() || what < 30) running.push_back(++begun);
      std::swap(running[random() % running.size()], running.back());
      if (what < 60 || blocks.empty()) {
        blocks.push_back(0x1000 * time);
        events.push_back(birth(running.back(), time, blocks.back(), 777));
      } else if (what < 75) {
        events.push_back(death(running.back(), time, blocks.back()));
        blocks.pop_back();
      } else {
        events.push_back(ashlar::trace::test::other(event_kind::thread_exit, running.back(), time));
        running.pop_back();
      }
    }
    const json found = outcome(write_trace(events), "system", 0);
    EXPECT_EQ(found.at("births").get<std::uint64_t>() - found.at("deaths").get<std::uint64_t>(),
              blocks.size());
    EXPECT_GT(found.at("threads"), 200) << seed;
    EXPECT_EQ(found.at("corrupted_blocks"), 0);
  }
}

TEST_F(Replay, AllWhatIsInstalledIsOneTable) {
  if (library.empty()) GTEST_SKIP() << "this build has no drop-in library";
  const ended result = command({"replay", write_trace(all_kinds()), "--on", "all", "-n", "2"}, 0);
  for (const char* name : {"system", "ashlar", "p99.99"}) has(result.out, name);
}

// 8 blocks of 32 bytes and 3 of 100 at once, from two threads; one block that is larger than the pools' largest.
std::vector<event> two_classes() {
  std::vector<event> events;
  std::uint64_t time = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 11; ++i)
      events.push_back(
          birth(static_cast<std::uint32_t>(1 + i % 2), ++time, 0x1000 + 256 * i, i < 8 ? 32 : 100));
    for (std::uint64_t i = 0; i < 11; ++i)
      events.push_back(death(static_cast<std::uint32_t>(1 + i / 6), ++time, 0x1000 + 256 * i));
  }
  events.push_back(birth(1, ++time, 0x90000, 100000));
  return events;
}

TEST_F(Replay, PoolsOfTheTunerHaveNoFailureAndNoBlockToSpare) {
  const std::string trace = write_trace(two_classes());
  const ended tuned = command(
      {"tune", trace, "--classes", "2", "--largest", "4096", "--certificate", path("pools.json")},
      0);
  json found = outcome(trace, path("pools.json"), 0);
  EXPECT_EQ(found.at("failures"), 0);
  EXPECT_EQ(found.at("left_out"), 1);
  // Each target that did less than the others is named, in whatever place.
  for (const std::string& on : {"system," + path("pools.json"), path("pools.json") + ",system"}) {
    const ended beside = command({"replay", trace, "--on", on, "-n", "1"}, 0);
    for (const std::string& told : {std::string("34 births, 33 deaths; 2 threads"),
                                    path("pools.json") + ": 1 requests larger"})
      has(beside.out, told);
    lacks(beside.out, "system: ");
  }
  const json pools = json::parse(read_file(path("pools.json")));
  ASSERT_EQ(found.at("classes").size(), 2);
  EXPECT_EQ(found.at("classes").at(0).at("peak"), 8);
  EXPECT_EQ(found.at("classes").at(1).at("peak"), 3);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(found.at("classes").at(c).at("capacity"), pools.at("classes").at(c).at("capacity"));
    json lowered = pools;
    lowered["classes"][c]["capacity"] = pools["classes"][c]["capacity"].get<int>() - 1;
    found = outcome(trace, write("lowered.json", lowered.dump()), 1);
    EXPECT_EQ(found.at("failures"), 3);  // one in each round
    EXPECT_EQ(found.at("classes").at(c).at("failures"), 3);
    EXPECT_EQ(found.at("classes").at(1 - c).at("failures"), 0);
  }
  json smaller = pools;
  smaller["classes"].erase(1);
  EXPECT_EQ(outcome(trace, write("smaller.json", smaller.dump()), 1).at("failures"), 9);
  has(said_, "and 9 requests that fit no class");
  json borrows = pools;
  borrows["spill"] = "take_larger";
  borrows["classes"][0]["capacity"] = 7;
  borrows["classes"][1]["capacity"] = 4;
  EXPECT_EQ(outcome(trace, write("borrows.json", borrows.dump()), 0).at("failures"), 0);
}

TEST_F(Replay, PoolsThatThereIsNoMemoryForAreNotSaidToRefuseRequests) {
  std::vector<event> events;
  for (std::uint64_t i = 0; i < 4096; ++i)  // 256 TiB
    events.push_back(birth(1, i, 0x1000 + i * 16, std::uint64_t{1} << 36));
  const std::string trace = write_trace(events);
  done({"tune", trace, "--certificate", path("pools.json")});
  const json found = outcome(trace, path("pools.json"), 1);
  has(found.at("worker_failure"), "no memory for pools");
  EXPECT_EQ(found.at("failures"), 0);
  const ended verified = command({"tune", "verify", path("pools.json")}, 2);
  has(verified.err, "too little memory");
}

TEST_F(Replay, WhatATraceCannotSayIsSkippedAndTold) {
  const std::string trace =
      write_trace({death(1, 1000, 0x9000), birth(1, 2000, 0x1000, 40), death(1, 3000, 0x1000)});
  const json found = outcome(trace, "system", 0);
  EXPECT_EQ(found.at("unknown_deaths"), 1);
  EXPECT_EQ(found.at("operations"), 2);
  has(said_, "1 deaths of blocks from before the recording: skipped");
  EXPECT_EQ(outcome(write_trace({}), "system", 0).at("operations"), 0);
}

TEST_F(Replay, ASignalEndsTheReadingOfTheTrace) {
  pending_signal_ = SIGTERM;
  const ended result = command(
      {"replay", write_trace(all_kinds()), "--on", "system", "--json=" + path("replay.json")});
  EXPECT_EQ(result.exit_status(), 128 + SIGTERM);
  EXPECT_EQ(result.err, "ashlar: ended early by SIGTERM: nothing was measured\n");
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(files(), std::vector<std::string>{"a.atrace"});
}

TEST_F(Replay, AFileThatIsNotWrittenInTheEndIsAFailure) {
  const words line{"replay", write_trace(all_kinds()), "--on", planted_malloc, "-n",
                   "1",      "--json=/dev/full"};
  for (const char* planted : {"none", "corrupt"}) {
    environment_ = {{"PLANTED", planted}};
    const ended result = command(line, 1);
    has(result.err, "cannot write '/dev/full'");
    has(result.out, "14 births");
  }
}

TEST_F(Replay, ALibraryIsNotWrittenOverButAFileOfAnAllocatorsNameIs) {
  const std::string trace = write_trace(all_kinds());
  std::filesystem::copy_file(planted_malloc, path("planted.so"));
  const ended refused = command(
      {"replay", trace, "--on", "mine=" + path("planted.so"), "--json=" + path("planted.so")}, 2);
  has(refused.err, "is an input");
  write("system", "of yesterday");
  const ended replaced =
      command({"replay", trace, "--on", "system", "-n", "1", "--json=system", "--force"}, 0);
  EXPECT_TRUE(json::accept(read_file(path("system"))));
}

TEST_F(Replay, BadInputEndsWithTwoAndNamesTheThing) {
  const std::string trace = write_trace(all_kinds());
  std::string damaged = read_file(trace);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x40);
  const std::string damaged_trace = write("damaged.atrace", damaged);
  const std::string text = write("text.atrace", "hello");
  const std::string no_pools = write("no.json", "{\"certificate\": 1}");
  const std::vector<std::pair<words, std::string>> wrong{
      {{trace, "--on", "nonesuch"}, "--on nonesuch"},
      {{trace, "--on", "./nonesuch.so"}, "./nonesuch.so"},
      {{trace, "--on", text + ".so"}, "text.atrace.so"},
      {{trace, "--on", path("nonesuch.json")}, "nonesuch.json"},
      {{trace, "--on", no_pools}, "no.json"},
      {{trace, "--touch", "none"}, "--touch: 'none'"},
      {{trace, "-n", "0"}, "--runs"},
      {{trace, "--on", "system", "--json=" + path("none/such.json")}, "such.json"},
      {{path("nonesuch.atrace"), "--on", "system"}, "nonesuch.atrace"},
      {{damaged_trace, "--on", "system"}, "damaged.atrace: at byte"},
      {{text, "--on", "system"}, "text.atrace: at byte"},
      {{write("empty.atrace", ""), "--on", "system"}, "empty.atrace: at byte"},
      {{}, "TRACE"}};
  for (auto [arguments, named] : wrong) {
    arguments.insert(arguments.begin(), "replay");
    const ended result = command(arguments, 2);
    has(result.err, named);
    EXPECT_EQ(result.out, "");
  }
  write("kept.json", "before");
  command({"replay", damaged_trace, "--on", "system", "--json=" + path("kept.json")});
  EXPECT_EQ(read_file(path("kept.json")), "before");
}

}  // namespace
