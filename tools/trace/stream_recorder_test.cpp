#include "tools/trace/stream_recorder.hpp"

#include <ostream>
#include <tests/support/test_headers.hpp>

#include "tools/trace/spool_test_program.hpp"

namespace ashlar::trace {
namespace {

using enum event_kind;
using namespace test;

constexpr std::uint64_t far_ahead = 1'500'000'000;  // ticks: some 20 seconds

struct told {
  event_kind kind;
  std::uint32_t thread;
  std::uint64_t address;  // of others: the number
  friend bool operator==(const told&, const told&) = default;
};
void PrintTo(const told& t, std::ostream* out) {
  *out << static_cast<int>(t.kind) << " of " << t.thread << " at " << t.address;
}

/// All that was read of the process, and when it ended.
struct kept {
  std::vector<event> events;
  std::vector<std::string> texts;
  bool ended = false;

  [[nodiscard]] std::vector<told> all() const {
    std::vector<told> list;
    list.reserve(events.size());
    for (const event& e : events)
      list.push_back({e.kind, e.thread, is_other(e.kind) ? e.size : e.address});
    return list;
  }
};

class keeper final : public stream_reader {
 public:
  keeper(kept& to, event_source& from) : to_(to), from_(from) {}
  void read() override {
    EXPECT_FALSE(to_.ended);
    while (const event* const e = from_.peek()) {
      to_.events.push_back(*e);
      to_.texts.emplace_back(e->text);
      to_.events.back().text = {};
      from_.pop();
    }
  }
  void end() override { to_.ended = true; }

 private:
  kept& to_;
  event_source& from_;
};

class StreamRecorder : public testing::Test {
 protected:
  /// Effects: this process begins with so many threads, the chunk before its number each. Returns: its index.
  std::uint32_t begin(std::uint32_t threads) {
    const std::uint32_t p = program_.begin_process(pid_);
    for (std::uint32_t t = 0; t < threads; ++t) program_.take_chunk(t, p, t + 1, 0);
    return p;
  }
  void expect_read(const std::vector<told>& expected) { EXPECT_EQ(read_[pid_].all(), expected); }
  /// Effects: time passes: what was put by now, with small times, is known.
  std::size_t drain() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return recorder_.drain();
  }
  /// Effects: so often that one of them looks for who has ended.
  std::size_t drain_often() {
    std::size_t given_back = 0;
    for (int i = 0; i < 64; ++i) given_back += recorder_.drain();
    return given_back;
  }

  std::map<std::uint32_t, kept> read_;  // by pid
  stream_recorder recorder_{[this](std::uint32_t pid, event_source& from) {
    return std::make_unique<keeper>(read_[pid], from);
  }};
  spool_program program_{recorder_};
  std::uint32_t pid_ = static_cast<std::uint32_t>(::getpid());  // one that runs
};

TEST_F(StreamRecorder, ReadsChunksThatAreNotFull) {
  begin(1);
  program_.put(0, thread_start, 1, 0);
  program_.put(0, by_malloc, 2, 0x1000, 24);
  EXPECT_EQ(drain(), 0u);
  expect_read({{thread_start, 1, 0}, {by_malloc, 1, 0x1000}});
  EXPECT_EQ(read_[pid_].events[1], (event{by_malloc, 1, 0, 2, 0x1000, 24, 0, {}}));
  program_.put(0, from_free, 5, 0x1000);
  drain();
  EXPECT_EQ(read_[pid_].all().back(), (told{from_free, 1, 0x1000}));
  EXPECT_EQ(read_[pid_].events.size(), 3u);
  EXPECT_EQ(program_.state(0), chunk_state::taken);
}

TEST_F(StreamRecorder, ThreadsComeInTheOrderOfTime) {
  const std::uint32_t p = program_.begin_process(pid_);
  program_.take_chunk(0, p, 2, 0);
  program_.take_chunk(1, p, 1, 0);
  for (const std::uint64_t time : {20u, 40u, 50u}) program_.put(0, by_malloc, time, time * 16);
  for (const std::uint64_t time : {10u, 30u, 50u, 60u}) program_.put(1, by_malloc, time, time * 16);
  drain();
  expect_read({{by_malloc, 1, 160},
               {by_malloc, 2, 320},
               {by_malloc, 1, 480},
               {by_malloc, 2, 640},
               {by_malloc, 1, 800},
               {by_malloc, 2, 800},
               {by_malloc, 1, 960}});
}

TEST_F(StreamRecorder, WhatMayStillBePrecededWaits) {
  begin(2);
  program_.put(0, by_malloc, far_ahead, 0x1000);
  program_.put(1, by_malloc, 10, 0x2000);
  drain();
  expect_read({{by_malloc, 2, 0x2000}});
  program_.put(1, by_malloc, far_ahead - 1, 0x3000);
  drain();
  EXPECT_EQ(read_[pid_].events.size(), 1u);
  recorder_.finish();
  expect_read({{by_malloc, 2, 0x2000}, {by_malloc, 2, 0x3000}, {by_malloc, 1, 0x1000}});
  EXPECT_TRUE(read_[pid_].ended);
}

TEST_F(StreamRecorder, WhatIsSaidOfAnEventWaitsForIt) {
  begin(1);
  program_.put(0, spool_kind::size, std::uint64_t{5} << 32);
  program_.put(0, spool_kind::alignment, 48);
  drain();
  EXPECT_TRUE(read_[pid_].events.empty());
  program_.put(0, by_aligned, 7, 0x1000, 0);
  program_.put(0, by_malloc, 8, 0x2000, 3);
  drain();
  ASSERT_EQ(read_[pid_].events.size(), 2u);
  for (event& e : read_[pid_].events) e.time = 0;  // they were told late
  EXPECT_EQ(read_[pid_].events[0],
            (event{by_aligned, 1, 0, 0, 0x1000, std::uint64_t{5} << 32, 64, {}}));
  EXPECT_EQ(read_[pid_].events[1], (event{by_malloc, 1, 0, 0, 0x2000, 3, 0, {}}));
}

TEST_F(StreamRecorder, ASealedChunkIsGivenBackOnceItWasRead) {
  const std::uint32_t p = begin(1);
  program_.put(0, by_malloc, 1, 0x1000);
  drain();
  program_.put(0, by_malloc, 2, 0x2000);
  program_.seal(0);
  EXPECT_EQ(drain(), 1u);
  EXPECT_EQ(program_.state(0), chunk_state::free);
  EXPECT_EQ(program_.sealed(), 0u);
  // The thread's next one is the same again, and then one that lies before it.
  program_.take_chunk(0, p, 1, 1);
  program_.put(0, by_malloc, 3, 0x3000);
  program_.seal(0);
  program_.take_chunk(4, p, 1, 2);
  program_.put(4, by_malloc, 4, 0x4000);
  program_.seal(4);
  program_.take_chunk(2, p, 1, 3);
  program_.put(2, by_malloc, 5, 0x5000);
  EXPECT_EQ(drain(), 2u);
  std::vector<told> expected;
  for (std::uint64_t i = 1; i <= 5; ++i) expected.push_back({by_malloc, 1, i * 0x1000});
  EXPECT_EQ(read_[pid_].all(), expected);
  EXPECT_EQ(program_.state(2), chunk_state::taken);
}

TEST_F(StreamRecorder, ASealedChunkWhoseEventsMustWaitIsKept) {
  begin(1);
  program_.put(0, by_malloc, far_ahead, 0x1000);
  program_.seal(0);
  EXPECT_EQ(drain(), 0u);
  EXPECT_EQ(program_.state(0), chunk_state::sealed);
}

// A thread was stopped between its look at the clock and the record.
TEST_F(StreamRecorder, WhatIsToldLateComesLate) {
  begin(2);
  program_.put(0, by_malloc, 100, 0x1000);
  drain();
  program_.put(1, by_malloc, 50, 0x2000);
  drain();
  expect_read({{by_malloc, 1, 0x1000}, {by_malloc, 2, 0x2000}});
  EXPECT_GE(read_[pid_].events[1].time, 100u);
}

// A realloc that has freed the block already, but not told so yet.
TEST_F(StreamRecorder, AnAnnouncedDeathComesBeforeTheBirthThatFollowsIt) {
  for (int tries = 0; tries < 20; ++tries) {
    read_.clear();
    const auto begun = std::chrono::steady_clock::now();
    stream_recorder recorder([this](std::uint32_t pid, event_source& from) {
      return std::make_unique<keeper>(read_[pid], from);
    });
    spool_program program(recorder);
    const std::uint32_t p = program.begin_process(pid_);
    program.take_chunk(0, p, 1, 0);
    program.take_chunk(1, p, 2, 0);
    program.put(0, by_malloc, 10, 0x1000);
    constexpr std::uint64_t before = 100'000;  // a millisecond
    program.hold(0, before);
    program.put(1, by_malloc, before + 5, 0x1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    recorder.drain();
    const std::size_t known = read_[pid_].events.size();
    // Nobody waits for more than a second; a machine may be as slow as that.
    if (std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(900)) continue;
    ASSERT_EQ(known, 1u);
    program.put(0, from_realloc, before, 0x1000);
    program.hold(0, 0);
    recorder.drain();
    expect_read({{by_malloc, 1, 0x1000}, {from_realloc, 1, 0x1000}, {by_malloc, 2, 0x1000}});
    EXPECT_EQ(read_[pid_].events[1].time, before);
    return;
  }
  FAIL() << "20 times a millisecond lasted more than 900";
}

TEST_F(StreamRecorder, AnAnnouncedDeathIsNotWaitedForForEver) {
  begin(2);
  program_.hold(0, 1);
  program_.put(1, by_malloc, 5, 0x1000);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  recorder_.drain();
  EXPECT_EQ(read_[pid_].events.size(), 1u);
}

TEST_F(StreamRecorder, WhatAThreadLeftIsReadAndGivenBack) {
  const std::uint32_t p = program_.begin_process(pid_);
  program_.take_chunk(0, p, 1, 0, static_cast<std::uint32_t>(::getpid()));  // one that is there
  program_.take_chunk(1, p, 2, 0, test::ended_thread());
  program_.put(0, by_malloc, 1, 0x1000);
  program_.put(1, by_malloc, 2, 0x2000);
  EXPECT_EQ(drain_often(), 1u);
  expect_read({{by_malloc, 1, 0x1000}, {by_malloc, 2, 0x2000}});
  EXPECT_EQ(program_.state(0), chunk_state::taken);
  EXPECT_EQ(program_.state(1), chunk_state::free);
}

TEST_F(StreamRecorder, ProcessesAreReadByThemselvesAndEnd) {
  const std::uint32_t gone = ended_process();
  const std::uint32_t a = program_.begin_process(pid_);
  const std::uint32_t b = program_.begin_process(gone);
  program_.take_chunk(0, a, 1, 0);
  program_.take_chunk(1, b, 1, 0);
  program_.put(0, by_malloc, 1, 0x1000);
  program_.put(1, by_malloc, 2, 0x1000);
  program_.lose(b, 3);
  drain_often();
  EXPECT_TRUE(read_[gone].ended);
  EXPECT_EQ(read_[gone].all(), (std::vector<told>{{by_malloc, 1, 0x1000}, {lost, 1, 3}}));
  EXPECT_EQ(program_.state(1), chunk_state::free);  // though it was never sealed
  EXPECT_FALSE(read_[pid_].ended);
  EXPECT_EQ(program_.state(0), chunk_state::taken);
  recorder_.finish();
  EXPECT_TRUE(read_[pid_].ended);
  EXPECT_EQ(read_[pid_].events.size(), 1u);
}

// It ended long before the recording did.
TEST_F(StreamRecorder, TheProgramIsReadOnce) {
  const std::uint32_t gone = ended_process();
  recorder_.set_program(gone);
  const std::uint32_t p = program_.begin_process(gone);
  program_.take_chunk(0, p, 1, 0);
  program_.put(0, by_malloc, 1, 0x1000);
  drain_often();
  EXPECT_TRUE(read_.at(gone).ended);
  read_.clear();
  recorder_.finish();
  EXPECT_TRUE(read_.empty());
}

TEST_F(StreamRecorder, AnImageComesBehindAllThatTheOneBeforeHasLeft) {
  const std::uint32_t a = program_.begin_process(pid_);
  program_.take_chunk(5, a, 1, 0);
  program_.take_chunk(6, a, 2, 0);
  program_.put(5, by_malloc, 10, 0x1000);
  drain();
  program_.put(6, by_malloc, 20, 0x2000);
  const std::uint32_t b = program_.begin_process(pid_);
  program_.describe(3, b, std::string_view("/bin/b\0b\0-x\0", 12));
  program_.take_chunk(1, b, 1, 0);
  program_.put(1, by_malloc, 30, 0x3000);
  const std::uint32_t c = program_.begin_process(pid_);  // without an event between
  program_.take_chunk(2, c, 1, 0);
  program_.put(2, by_malloc, 40, 0x4000);
  drain();
  expect_read({{by_malloc, 1, 0x1000},
               {by_malloc, 2, 0x2000},
               {image, 1, 0},
               {by_malloc, 1, 0x3000},
               {image, 1, 0},
               {by_malloc, 1, 0x4000}});
  EXPECT_EQ(read_[pid_].texts[2], std::string("b\0-x\0", 5));
  for (const std::uint32_t i : {1u, 3u, 5u, 6u}) EXPECT_EQ(program_.state(i), chunk_state::free);
  EXPECT_EQ(program_.state(2), chunk_state::taken);
  std::uint64_t last = 0;
  for (const event& e : read_[pid_].events) EXPECT_GE(e.time, std::exchange(last, e.time));
}

// Any number of drains between a program's events, and any chunks: what is read is what was told, in its order.
TEST_F(StreamRecorder, RandomProgramsAreReadAsTheyWere) {
  std::mt19937 random(1);
  const std::uint32_t p = program_.begin_process(pid_);
  struct thread {
    std::uint32_t chunk = 0, sequence = 0;
    bool has_chunk = false;
  };
  std::vector<thread> threads(5);
  std::vector<told> expected;
  const auto free_chunk = [&] {
    auto index = static_cast<std::uint32_t>(random() % 40);
    while (program_.state(index) != chunk_state::free) index = (index + 1) % 40;
    return index;
  };
  std::uint64_t time = 0;
  for (int i = 0; i < 20'000; ++i) {
    time = std::max(time + 1, program_.now());
    const std::size_t which = random() % threads.size();
    thread& t = threads[which];
    const auto number = static_cast<std::uint32_t>(which + 1);
    if (!t.has_chunk) {
      t.chunk = free_chunk();
      program_.take_chunk(t.chunk, p, number, t.sequence++);
      t.has_chunk = true;
    }
    program_.put(t.chunk, by_malloc, time, expected.size() * 16);
    expected.push_back({by_malloc, number, expected.size() * 16});
    if (random() % 500 == 0) {
      program_.seal(t.chunk);
      t.has_chunk = false;
    }
    if (random() % 2000 == 0) drain();
    if (program_.sealed() > 20) drain();
  }
  recorder_.finish();
  EXPECT_EQ(read_[pid_].all(), expected);
}

}  // namespace
}  // namespace ashlar::trace
