#include "tools/trace/summary.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/trace/trace_files_test.hpp"

namespace ashlar::trace {
namespace {

using namespace test;

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
  EXPECT_EQ(std::tuple(s.first_time, s.last_time, s.threads, s.births, s.birth_bytes, s.deaths,
                       s.cross_thread_deaths, s.unknown_deaths, s.missing_deaths, s.lost,
                       s.live_blocks, s.live_bytes, s.peak_blocks, s.peak_bytes, s.peak_bytes_time),
            std::tuple(9u, 950u, 2u, 4u, 156u, 2u, 1u, 1u, 0u, 7u, 2u, 32u, 3u, 148u, 30u));
  ASSERT_EQ(s.sizes.size(), 3u);
  EXPECT_EQ(std::tuple(s.sizes.at(24).births, s.sizes.at(24).peak, s.sizes.at(24).live,
                       s.alignments.at(64)),
            std::tuple(2u, 2u, 1u, 1u));
  EXPECT_EQ(s.lifetimes[5], 1u);  // 31 ticks
  EXPECT_EQ(s.lifetimes[4], 1u);  // 12 ticks
  EXPECT_EQ(s.lifetimes_by_decade[2], 2u);
  EXPECT_EQ(s.events[static_cast<std::size_t>(event_kind::from_free)], 3u);
}

// Nobody touched most of the block of 1 MiB, and the one of 100 bytes takes 256.
TEST(Summary, InMemoryIsWhatWasTouchedAndWhatAlignmentTakes) {
  constexpr std::uint64_t mib = 1u << 20;
  event aligned = with_stack(birth(1, 3, 0x7f00, 100), 2);
  aligned.kind = event_kind::by_aligned;
  aligned.alignment = 256;
  const trace_summary s =
      summary_of({with_stack(birth(1, 1, 0x100000, mib), 1), aligned,
                  with_stack(birth(1, 4, 0x300000, 50), 3), note(1, 5, 0x100000, mib - 4096),
                  death(1, 6, 0x100000), with_stack(birth(1, 7, 0x100000, 10), 1)});
  EXPECT_EQ(std::tuple(s.stacks.at(1).at_peak_bytes, s.stacks.at(1).resident_bytes),
            std::tuple(mib, 4096u));
  EXPECT_EQ(std::tuple(s.stacks.at(2).at_peak_bytes, s.stacks.at(2).resident_bytes),
            std::tuple(100u, 256u));
  EXPECT_EQ(s.stacks.at(3).resident_bytes, 50u);
}

TEST(Summary, AtThePeakEachSizeHasWhatLivedThen) {
  std::vector<event> events;
  for (const std::uint64_t size : {24u, 5000u}) {  // a small size and a large one are counted apart
    const std::uint64_t base = size << 16;
    for (std::uint64_t i = 0; i < 4; ++i)
      events.push_back(birth(1, events.size(), base + 16 * i, size));
    events.push_back(death(1, events.size(), base));
  }
  events.push_back(birth(1, events.size(), 0x10, 24));
  events.push_back(birth(1, events.size(), 0x20, 9));
  events.push_back(birth(1, events.size(), 0x30, 4950));  // 4 * 24 + 4 * 4950 + 9 are not reached
  const trace_summary s = summary_of(events);
  EXPECT_EQ(s.peak_bytes, 3 * 24 + 4 * 5000u);
  EXPECT_EQ(std::tuple(s.sizes.at(24).at_peak, s.sizes.at(24).live, s.sizes.at(5000).at_peak,
                       s.sizes.at(5000).live, s.sizes.at(9).at_peak),
            std::tuple(3u, 4u, 4u, 3u, 0u));
}

event of_kind(event e, event_kind kind) {
  e.kind = kind;
  return e;
}

TEST(Summary, ATemporaryIsFreedByTheNextCallOfItsThread) {
  const auto temporaries_of = [](const std::vector<event>& events) {
    const trace_summary s = summary_of(events);
    std::uint64_t by_size = 0;
    for (const auto& [size, figures] : s.sizes) by_size += figures.temporaries;
    EXPECT_EQ(by_size, s.temporaries);
    return s.temporaries;
  };
  EXPECT_EQ(temporaries_of({birth(1, 1, 0x10), death(1, 2, 0x10)}), 1u);
  // Another thread's calls do not count, nor does what is no call.
  EXPECT_EQ(temporaries_of({birth(1, 1, 0x10), birth(2, 2, 0x20), other(event_kind::mark, 1, 3),
                            death(1, 4, 0x10), death(2, 5, 0x20)}),
            2u);
  EXPECT_EQ(temporaries_of({birth(1, 1, 0x10), death(2, 2, 0x10)}), 0u);
  EXPECT_EQ(temporaries_of({birth(1, 1, 0x10), birth(1, 2, 0x20), death(1, 3, 0x10)}), 0u);
  EXPECT_EQ(temporaries_of({birth(1, 1, 0x10), death(1, 2, 0x990), death(1, 3, 0x10)}), 0u);
  // The slot is used again: thread 3 has the block that thread 1 frees.
  EXPECT_EQ(
      temporaries_of({birth(1, 1, 0x10), death(2, 2, 0x10), birth(3, 3, 0x20), death(1, 4, 0x20)}),
      0u);
  // A realloc keeps what is in the block.
  EXPECT_EQ(temporaries_of({birth(1, 1, 0x10), of_kind(death(1, 2, 0x10), event_kind::from_realloc),
                            of_kind(birth(1, 3, 0x20), event_kind::by_realloc)}),
            0u);
}

TEST(Summary, TemporariesAreCountedByStack) {
  const trace_summary s = summary_of(
      {with_stack(birth(1, 1, 0x10), 1), death(1, 2, 0x10), with_stack(birth(1, 3, 0x10), 1),
       with_stack(birth(1, 4, 0x20), 2), death(1, 5, 0x20), death(1, 6, 0x10)});
  EXPECT_EQ(s.stacks.at(1).temporaries, 1u);
  EXPECT_EQ(s.stacks.at(2).temporaries, 1u);
}

TEST(Summary, OfEachStretchTheLeastThatAStackHeldIsKnown) {
  // 64 stretches of 10 ticks: 0 to 639.
  const trace_summary s = summary_of({
      with_stack(birth(1, 0, 0x10, 100), 1),
      with_stack(birth(1, 15, 0x20, 50), 1),
      with_stack(birth(1, 31, 0x30, 7), 1),
      death(1, 35, 0x30),
      death(1, 52, 0x10),
      with_stack(birth(1, 639, 0x40, 1), 2),
  });
  EXPECT_EQ(std::tuple(s.held.stretch_ticks, s.held.births[1], s.held.births[63]),
            std::tuple(10u, 1u, 1u));
  const std::vector<std::uint64_t> expected{0, 100, 150, 150, 150, 50, 50};
  EXPECT_EQ(s.held.by_stack.at(1).least(7), expected);
  EXPECT_EQ(s.held.by_stack.at(1).least(64).back(), 50u);
  EXPECT_EQ(s.held.by_stack.at(2).least(64).back(), 0u) << "it held nothing when this one began";
}

TEST(Summary, WhileAReallocMovesABlockItsBytesAreHeld) {
  std::vector<event> events{with_stack(birth(1, 0, 0x1000, 100), 1)};
  for (std::uint64_t i = 1; i < 64; ++i) {
    events.push_back(of_kind(death(1, 10 * i, 0x1000 * i), event_kind::from_realloc));
    events.push_back(with_stack(
        of_kind(birth(1, 10 * i, 0x1000 * (i + 1), 100 + i), event_kind::by_realloc), 1));
  }
  events.push_back(of_kind(death(1, 639, 0x40000), event_kind::from_realloc));
  const auto least = summary_of(events).held.by_stack.at(1).least(64);
  for (std::size_t i = 1; i < 64; ++i) EXPECT_EQ(least[i], 99 + i);
}

TEST(Summary, LifetimesAreByPowersOfTenOfAMicrosecond) {
  std::vector<event> events;
  for (const std::uint64_t ticks :
       {0u, 1u, 9u, 10u, 99u, 100u, 999'999u, 1'000'000u, 50'000'000u}) {
    const std::uint64_t address = 16 * (events.size() + 1);
    const std::uint64_t time = 100'000'000 * events.size();
    events.push_back(birth(1, time, address));
    events.push_back(death(1, time + ticks, address));
  }
  const std::array<std::uint64_t, 8> expected{1, 2, 2, 1, 0,
                                              0, 1, 2};  // a tick of these traces is a microsecond
  EXPECT_EQ(summary_of(events).lifetimes_by_decade, expected);
}

TEST(Summary, ThePeaksOverTimeContainTheTracesPeakHoweverFewTheyAre) {
  std::vector<event> events;
  for (std::uint64_t i = 0; i < 1000; ++i) events.push_back(birth(1, 100 + 7 * i, 16 * (i + 1), 1));
  for (std::uint64_t i = 0; i < 1000; ++i) events.push_back(death(1, 7100 + 3 * i, 16 * (i + 1)));
  for (const std::size_t moments : {2u, 3u, 10u, 64u, 5000u}) {
    const trace_summary s = summary_of(events, moments);
    ASSERT_LE(s.over_time.size(), moments);
    ASSERT_GE(2 * s.over_time.size(), std::min<std::size_t>(moments, 5000));
    std::uint64_t most = 0, end = 0;
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
