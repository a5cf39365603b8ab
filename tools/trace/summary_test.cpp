#include "tools/trace/summary.hpp"

#include <gtest/gtest.h>

#include "tools/trace/trace_test_files.hpp"

namespace ashlar::trace {
namespace {

using test::birth;
using test::death;
using test::other;

trace_summary summary_of(const std::vector<event>& events, std::size_t moments = 10) {
  trace_reader reader = test::read(test::written(events));
  return summarise(reader, moments);
}

event with_stack(event e, std::uint32_t stack) {
  e.stack = stack;
  return e;
}

TEST(Summary, EveryFigureOfASmallTrace) {
  event aligned = birth(2, 30, 0x3000, 100);
  aligned.kind = event_kind::by_aligned;
  aligned.alignment = 64;
  const trace_summary s = summary_of(
      {other(event_kind::thread_start, 1, 9), birth(1, 10, 0x1000, 24), birth(1, 20, 0x2000, 24),
       aligned, death(2, 41, 0x1000), death(2, 42, 0x3000), birth(1, 50, 0x1000, 8),
       death(1, 900, 0x9990), other(event_kind::lost, 1, 950, 7)});
  EXPECT_EQ(s.first_time, 9u);
  EXPECT_EQ(s.last_time, 950u);
  EXPECT_EQ(s.threads, 2u);
  EXPECT_EQ(s.births, 4u);
  EXPECT_EQ(s.birth_bytes, 156u);
  EXPECT_EQ(s.deaths, 2u);
  EXPECT_EQ(s.cross_thread_deaths, 1u);
  EXPECT_EQ(s.unknown_deaths, 1u);
  EXPECT_EQ(s.missing_deaths, 0u);
  EXPECT_EQ(s.lost, 7u);
  EXPECT_EQ(s.live_blocks, 2u);
  EXPECT_EQ(s.live_bytes, 32u);
  EXPECT_EQ(s.peak_blocks, 3u);
  EXPECT_EQ(s.peak_bytes, 148u);
  EXPECT_EQ(s.peak_bytes_time, 30u);
  ASSERT_EQ(s.sizes.size(), 3u);
  EXPECT_EQ(s.sizes.at(24).births, 2u);
  EXPECT_EQ(s.sizes.at(24).peak, 2u);
  EXPECT_EQ(s.sizes.at(24).live, 1u);
  EXPECT_EQ(s.alignments.at(64), 1u);
  EXPECT_EQ(s.lifetimes[5], 1u);  // 31 ticks
  EXPECT_EQ(s.lifetimes[4], 1u);  // 12 ticks
  EXPECT_EQ(s.events[static_cast<std::size_t>(event_kind::from_free)], 3u);
}

TEST(Summary, AtThePeakEachStackHasWhatLivedThen) {
  const trace_summary s =
      summary_of({with_stack(birth(1, 1, 0x1000, 10), 1), with_stack(birth(1, 2, 0x2000, 20), 2),
                  death(1, 3, 0x1000), with_stack(birth(1, 4, 0x3000, 40), 3),
                  with_stack(birth(1, 5, 0x1000, 5), 1), death(1, 6, 0x3000), death(1, 7, 0x2000),
                  with_stack(birth(1, 8, 0x4000, 6), 2)});
  EXPECT_EQ(s.peak_bytes, 65u);
  EXPECT_EQ(s.stacks.at(1).at_peak_bytes, 5u);
  EXPECT_EQ(s.stacks.at(2).at_peak_bytes, 20u);
  EXPECT_EQ(s.stacks.at(3).at_peak_bytes, 40u);
  EXPECT_EQ(s.stacks.at(1).births, 2u);
  EXPECT_EQ(s.stacks.at(1).bytes, 15u);
  EXPECT_EQ(s.stacks.at(2).live_bytes, 6u);
}

TEST(Summary, ThePeaksOverTimeContainTheTracesPeakHoweverFewTheyAre) {
  std::vector<event> events;
  for (std::uint64_t i = 0; i < 1000; ++i) events.push_back(birth(1, 100 + 7 * i, 16 * (i + 1), 1));
  for (std::uint64_t i = 0; i < 1000; ++i) events.push_back(death(1, 7100 + 3 * i, 16 * (i + 1)));
  for (const std::size_t moments : {2u, 3u, 10u, 64u, 5000u}) {
    const trace_summary s = summary_of(events, moments);
    ASSERT_LE(s.over_time.size(), moments);
    ASSERT_GE(2 * s.over_time.size(), std::min<std::size_t>(moments, 5000));
    std::uint64_t most = 0;
    std::uint64_t end = 0;
    for (const moment_figures& m : s.over_time) {
      most = std::max(most, m.blocks);
      EXPECT_GT(m.end, end);
      end = m.end;
    }
    EXPECT_EQ(most, 1000u);
    EXPECT_GT(end, s.last_time);
  }
}

}  // namespace
}  // namespace ashlar::trace
