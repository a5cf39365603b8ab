#include "tools/trace/event_stream.hpp"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tools/trace/lifetimes.hpp"

namespace ashlar::trace {
namespace {

constexpr std::uint64_t ticks_per_second = 1'000'000;  // clocks differ by 5 ticks at most
static_assert(clock_difference(ticks_per_second) == 5);

/// Two threads with a chunk each.
class EventStream : public testing::Test {
 protected:
  EventStream() {
    for (std::uint32_t i = 0; i < 2; ++i) {
      chunks_[i] = std::make_unique<chunk>();
      chunks_[i]->header.thread = i + 1;
    }
  }
  void attach() {
    for (std::uint32_t i = 0; i < 2; ++i) stream_.attach(i);
  }
  void put(std::uint32_t thread, event_kind kind, std::uint32_t time, std::uint64_t address) {
    chunk& c = *chunks_[thread - 1];
    const std::uint32_t used = c.header.used.load();
    c.records[used] = {static_cast<std::uint64_t>(kind) << 56 | address, time, 16};
    c.header.used.store(used + 1);
  }
  std::vector<std::uint64_t> read() {
    std::vector<std::uint64_t> times;
    for (; const event* const e = stream_.peek(); stream_.pop()) times.push_back(e->time);
    return times;
  }

  std::array<std::unique_ptr<chunk>, 2> chunks_;
  event_stream stream_{{[this](std::uint32_t i) -> const chunk& { return *chunks_[i]; },
                        [](std::uint32_t) { return false; },
                        [](std::uint32_t) { ADD_FAILURE() << "nothing is final"; }},
                       0,
                       ticks_per_second};
};

TEST_F(EventStream, WhatClocksMayDifferByIsNotKnownYet) {
  for (const std::uint32_t time : {10u, 90u, 91u, 100u})
    put(1, event_kind::by_malloc, time, time * 16);
  attach();
  EXPECT_TRUE(read().empty());
  stream_.know_until(100);
  EXPECT_EQ(read(), (std::vector<std::uint64_t>{10, 90}));
  stream_.know_until(50);  // no way back
  EXPECT_TRUE(read().empty());
  stream_.know_until(110);
  EXPECT_EQ(read(), (std::vector<std::uint64_t>{91, 100}));
}

TEST_F(EventStream, WhatWasNextIsNotWhenAnEarlierOneComes) {
  put(1, event_kind::by_malloc, 10, 0x3000);
  put(1, event_kind::by_malloc, 95, 0x1000);
  attach();
  stream_.know_until(100);
  EXPECT_EQ(read(), (std::vector<std::uint64_t>{10}));
  put(2, event_kind::by_malloc, 93, 0x2000);
  stream_.know_until(110);
  EXPECT_EQ(read(), (std::vector<std::uint64_t>{93, 95}));
}

// The clock of thread 2 is ahead by four: its birth is told before the death that it follows, and just before the limit.
TEST_F(EventStream, ABirthWaitsForTheDeathThatFreedItsAddress) {
  put(1, event_kind::by_malloc, 10, 0x1000);
  put(2, event_kind::by_malloc, 89, 0x1000);
  attach();
  lifetimes steps(stream_);
  step s;
  stream_.know_until(95);
  ASSERT_TRUE(steps.next(s));
  EXPECT_FALSE(steps.next(s));  // 89 is not known to be next
  put(1, event_kind::from_free, 93, 0x1000);
  stream_.know_until(99);
  EXPECT_FALSE(steps.next(s));  // 89 is, and waits for 93
  stream_.know_until(103);
  ASSERT_TRUE(steps.next(s));
  EXPECT_EQ(s.happened, step::what::death);
  EXPECT_EQ(s.time, 93u);
  ASSERT_TRUE(steps.next(s));
  EXPECT_EQ(s.happened, step::what::birth);
  EXPECT_EQ(steps.missing_deaths(), 0u);
}

TEST_F(EventStream, TheEarliestAnnouncedDeathCounts) {
  attach();
  EXPECT_EQ(stream_.held(), UINT64_MAX);
  chunks_[0]->header.held.store(70);
  EXPECT_EQ(stream_.held(), 70u);
  chunks_[1]->header.held.store(60);
  EXPECT_EQ(stream_.held(), 60u);
}

}  // namespace
}  // namespace ashlar::trace
