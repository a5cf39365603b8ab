// ashlar record --profile as a user meets it: what a program is known to do is what its profile says.
#include <tests/support/command_in_folder.hpp>
#include <tests/support/test_headers.hpp>

#include "tools/profile/profile_file.hpp"
#include "tools/profile/size_grid.hpp"

namespace {

namespace fs = std::filesystem;
using namespace support;
using namespace ashlar::profiling;

const std::string calls = ASHLAR_TEST_CALLS;

struct counts {
  std::uint64_t births = 0;
  std::uint64_t deaths = 0;
};
// Of the requests that need as much as this one.
counts of_size(const profile& p, std::uint64_t size) {
  const std::uint32_t step = pool_grid::step_of(pool_grid::need_of(size, 0));
  for (const pool_row& row : p.pools)
    if (row.step == step)
      return {row.births,
              std::accumulate(row.lifetimes.begin(), row.lifetimes.end(), std::uint64_t{0})};
  return {};
}

// What does not depend on how fast the program ran.
profile without_times(profile p) {
  p.nanoseconds = 0;
  for (pool_row& row : p.pools) {
    const std::uint64_t deaths =
        std::accumulate(row.lifetimes.begin(), row.lifetimes.end(), std::uint64_t{0});
    row.lifetimes = {};
    row.lifetimes[0] = deaths;
  }
  for (heap_row& row : p.heap) row.mean_1024 = {};
  return p;
}

class RecordProfile : public CommandInFolder {
 protected:
  [[nodiscard]] profile read(const std::string& name = "run.aprof") const {
    return read_profile(path(name));
  }
  [[nodiscard]] bool is_there(const std::string& name) const { return fs::exists(path(name)); }
  // Of the command's memory, what is not shared with the program, in KiB.
  static long own_memory(pid_t of) {
    std::ifstream status("/proc/" + std::to_string(of) + "/status");
    for (std::string word; status >> word;) {
      long size = 0;
      if (word == "RssAnon:" && status >> size) return size;
    }
    return -1;
  }
};

TEST_F(RecordProfile, IsTheProfileOfTheTrace) {
  done({"record", "--", calls, "mixture"});
  done({"tune", "profile", "run.atrace", "-o", "of-trace.aprof"});
  done({"record", "--profile", "--", calls, "mixture"});
  has(said("err"), "ashlar: run.aprof: ");
  EXPECT_EQ(files(), (words{"of-trace.aprof", "run.aprof", "run.atrace"}));
  const profile direct = read();
  const profile of_trace = read("of-trace.aprof");
  EXPECT_GE(direct.births(), 20'000u);
  EXPECT_GT(direct.pools.size(), 50u);
  EXPECT_GT(direct.peak_blocks(), 900u);
  EXPECT_EQ(without_times(direct), without_times(of_trace));
  EXPECT_NE(direct.nanoseconds, 0u);
}

TEST_F(RecordProfile, BlocksThatGoFromThreadToThreadAreInOrder) {
  // Also on ashlar's heap, which hands what one thread freed to another one soon.
  for (const words& on : {words{}, words{"--on", "ashlar"}}) {
    for (const char* program : {"crowd", "resizing"}) {
      SCOPED_TRACE(program);
      done(words{"record", "--profile"} + on + words{"--", calls, program});
      const profile p = read();
      const counts blocks = of_size(p, 1001);
      EXPECT_GE(blocks.births, 100'000u);
      EXPECT_EQ(blocks.births, blocks.deaths);
      EXPECT_EQ(p.unknown_deaths, 0u);
      EXPECT_EQ(p.missing_deaths, 0u);
      EXPECT_EQ(p.lost_events, 0u);
    }
  }
}

TEST_F(RecordProfile, AForkedProcessHasItsOwn) {
  done({"record", "--profile", "-o", "my.aprof", "--", calls, "forks"});
  const auto names = files();
  ASSERT_EQ(names.size(), 5u);
  const profile own = read("my.aprof");
  EXPECT_EQ(own.unknown_deaths, 0u);
  EXPECT_EQ(of_size(own, 444).births, 1u);
  EXPECT_EQ(of_size(own, 500).births, 0u);  // 500 to 503 are one need
  for (const std::string& name : names) {
    if (name == "my.aprof") continue;
    EXPECT_EQ(name.substr(0, 3), "my.");
    EXPECT_EQ(name.substr(name.size() - 6), ".aprof");
    const profile child = read(name);
    EXPECT_EQ(child.unknown_deaths, 1u);  // the block that it was born with
    EXPECT_EQ(of_size(child, 500).births, 1u);
    EXPECT_EQ(of_size(child, 500).deaths, 1u);
  }
}

TEST_F(RecordProfile, AKilledProgramsHasAllThatItDid) {
  EXPECT_EQ(WTERMSIG(ashlar({"record", "--profile", "--", calls, "kill"})), SIGKILL);
  const profile p = read();
  EXPECT_GE(p.births(), 50'001u);
  const counts last = of_size(p, 777);
  EXPECT_EQ(last.births - last.deaths, 1u);
  EXPECT_EQ(p.unfinished_runs, 0u);
}

TEST_F(RecordProfile, WhatAProgramExecutesGoesOnInIt) {
  done({"record", "--profile", "--", calls, "exec", "many"});
  EXPECT_EQ(files(), words{"run.aprof"});
  const profile p = read();
  const counts before = of_size(p, 777);
  EXPECT_GT(before.births, 100u);
  EXPECT_EQ(before.births, before.deaths);  // exec was the last death
  EXPECT_GE(p.births(), 100'001u);
}

TEST_F(RecordProfile, OfAProgramThatAllocatesNothingIsARunWithoutBirths) {
  done({"record", "--profile", "--", calls, "nothing"});
  EXPECT_EQ(files(), words{"run.aprof"});
  profile right;
  right.runs = 1;
  EXPECT_EQ(read(), right);
}

TEST_F(RecordProfile, IsWrittenWhileTheProgramRuns) {
  const pid_t command = start({"record", "--profile=1", "--", calls, "wait"});
  ASSERT_TRUE(becomes_true([&] { return is_there("run.aprof"); }));
  const profile running = read();
  EXPECT_EQ(said("out"), "ready\n");
  EXPECT_EQ(running.unfinished_runs, 1u);
  EXPECT_EQ(of_size(running, 777).births, 1u);  // though the thread's chunk is nearly empty
  ::kill(command, SIGINT);
  EXPECT_EQ(WTERMSIG(wait_for(command)), SIGINT);
  EXPECT_EQ(read().unfinished_runs, 0u);
  EXPECT_EQ(files(), words{"run.aprof"});
}

TEST_F(RecordProfile, ARecorderThatIsKilledLeavesTheLastSnapshot) {
  const pid_t command = start({"record", "--profile=1", "--", calls, "endless"});
  const bool was_written = becomes_true([&] { return is_there("run.aprof"); });
  ::kill(command, SIGKILL);
  wait_for(command);
  const int program = std::atoi(said("out").c_str());
  ASSERT_GT(program, 1);
  ::kill(program, SIGKILL);
  ASSERT_TRUE(was_written);
  EXPECT_GT(read().births(), 10'000u);
}

TEST_F(RecordProfile, MemoryDoesNotGrowWithTheRun) {
  const pid_t command =
      start({"record", "--profile=1", "--", calls, "quarters", ASHLAR_QUARTER_BLOCKS});
  ASSERT_TRUE(becomes_true([&] { return said("out").starts_with("1\n"); }));
  const long at_first = own_memory(command);
  bool done = false;
  while (!done && ::kill(command, 0) == 0)
    done = becomes_true([&] { return said("out").ends_with("4\n"); });
  const long at_last = own_memory(command);
  ::kill(command, SIGINT);
  EXPECT_EQ(WTERMSIG(wait_for(command)), SIGINT);
  EXPECT_GT(at_first, 0);
  // What a snapshot takes may come between, but not a byte for each event.
  EXPECT_LT(at_last, at_first + 2048);
  EXPECT_GE(read().births(), 4 * std::stoull(ASHLAR_QUARTER_BLOCKS));
  EXPECT_EQ(read().unknown_deaths, 0u);
}

// More than there are chunks.
TEST_F(RecordProfile, ThreadsThatEndLeaveNothingBehind) {
  done({"record", "--profile", "--", calls, "failures", "9000"});
  const profile p = read();
  EXPECT_EQ(p.lost_events, 0u);
  EXPECT_GE(p.births(), 9000u);
  EXPECT_LT(p.births() - p.deaths(), 100u);
}

TEST_F(RecordProfile, RefusesWhatCannotBe) {
  std::ofstream(path("notes.txt")) << "precious";
  const auto refused = [&](const words& options, const std::string& why) {
    done(words{"record"} + options + words{"--", calls}, 2);
    has(said("err"), why);
  };
  refused({"--profile", "-o", "notes.txt"}, "'notes.txt' is there and is no profile");
  refused({"--profile", "-o", "/nowhere/run.aprof"}, "/nowhere");
  refused({"--profile=0"}, "--profile");
  refused({"--profile=soon"}, "--profile");
  refused({"--profile", "--stacks"}, "--stacks");
  EXPECT_EQ(said("notes.txt"), "precious");
  EXPECT_EQ(files(), words{"notes.txt"});
  done({"record", "--profile", "--", calls});
  done({"record", "--profile", "--", calls});  // a profile is replaced
  EXPECT_EQ(files(), (words{"notes.txt", "run.aprof"}));
}

}  // namespace
