#include "tools/profile/heap_counter.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <tests/support/extent.hpp>
#include <utility>

#include <gtest/gtest.h>

#include "tools/profile/test_runs.hpp"

namespace ashlar::profiling {
namespace {

using test::change;
using test::run;

/// The definition: all sizes are copied at each new peak, and added up at each tick.
std::vector<heap_row> counted(const run& from, std::uint64_t& peak_bytes) {
  using key = std::pair<std::uint32_t, std::uint64_t>;
  struct figures {
    alive now;
    alive at_peak;
    alive over_time;
    std::uint64_t births = 0;
  };
  std::map<key, figures> lines;
  std::uint64_t bytes = 0;
  std::uint64_t time = from.empty() ? 0 : from.front().time;
  for (const change& c : from) {
    for (; time < c.time; ++time) {
      for (auto& [size, line] : lines) {
        line.over_time.blocks += line.now.blocks;
        line.over_time.bytes += line.now.bytes;
      }
    }
    figures& of = lines[{heap_grid::step_of(c.size), c.alignment > 16 ? c.alignment : 0}];
    if (c.is_death) {
      --of.now.blocks;
      of.now.bytes -= c.size;
      bytes -= c.size;
      continue;
    }
    ++of.births;
    ++of.now.blocks;
    of.now.bytes += c.size;
    bytes += c.size;
    if (bytes <= peak_bytes) continue;
    peak_bytes = bytes;
    for (auto& [size, line] : lines) line.at_peak = line.now;
  }
  const std::uint64_t ticks =
      std::max<std::uint64_t>(from.empty() ? 0 : from.back().time - from.front().time, 1);
  std::vector<heap_row> rows;
  for (const auto& [size, line] : lines) {
    rows.push_back(
        {.step = size.first,
         .alignment = size.second,
         .births = line.births,
         .at_peak = line.at_peak,
         .mean_1024 = {.blocks = (line.over_time.blocks * 1024 + ticks - 1) / ticks,
                       .bytes = at_most_64_bits(wide{line.over_time.bytes} * 1024 / ticks)}});
  }
  return rows;
}

heap_counter followed(const run& from) {
  heap_counter counter;
  for (const change& c : from) {
    if (c.is_death) {
      counter.death(c.time, c.size, c.alignment);
    } else {
      counter.birth(c.time, c.size, c.alignment);
    }
  }
  return counter;
}

TEST(HeapCounter, EqualsCopiesTakenAtEachPeakAndSumsOverEachTick) {
  for (std::uint64_t seed = 0; seed < support::times(200u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const run made = test::random_run(random, random() % 300, 1 + seed % 40);
    const heap_counter counter = followed(made);
    std::uint64_t peak_bytes = 0;
    ASSERT_EQ(counter.rows(), counted(made, peak_bytes));
    EXPECT_EQ(counter.peak_bytes(), peak_bytes);
    EXPECT_EQ(counter.duration(), made.empty() ? 0 : made.back().time - made.front().time);
  }
}

TEST(HeapCounter, TheFirstOfTheHighestMomentsCounts) {
  heap_counter counter;
  counter.birth(100, 10, 0);
  counter.birth(110, 30, 0);
  counter.death(120, 30, 0);
  counter.birth(130, 15, 0);
  counter.birth(140, 15, 0);  // as many bytes as at 110
  const std::vector<heap_row> rows = counter.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(counter.peak_bytes(), 40u);
  EXPECT_EQ(rows[0].at_peak, (alive{1, 10}));
  EXPECT_EQ(rows[1].at_peak, (alive{1, 30}));
  EXPECT_EQ(rows[0].births, 3u);
}

TEST(HeapCounter, MeansAreOverTheTimeFromTheFirstBirthAndSlackIsNeverBelowZero) {
  heap_counter counter;
  counter.birth(1'000, 16, 0);
  counter.birth(1'001, 16, 0);
  counter.death(1'002, 16, 0);
  counter.death(1'003, 16, 0);
  const std::vector<heap_row> rows = counter.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].mean_1024.blocks, 1366u);  // 4/3 of 1024, rounded up
  EXPECT_EQ(rows[0].mean_1024.bytes, 21845u);  // 64/3 of 1024, rounded down
  EXPECT_GE(rows[0].mean_1024.blocks * 16, rows[0].mean_1024.bytes);
}

TEST(HeapCounter, ATimeThatGoesBackCountsAsTheLast) {
  heap_counter counter;
  counter.birth(50, 8, 0);
  counter.birth(60, 8, 0);
  counter.death(55, 8, 0);
  counter.death(70, 8, 0);
  EXPECT_EQ(counter.duration(), 20u);
  EXPECT_EQ(counter.rows().front().mean_1024.blocks, 1024u);
}

TEST(HeapCounter, OnlyAlignmentsThatNotEveryBlockHasAreToldApart) {
  heap_counter counter;
  counter.birth(0, 100, 0);
  counter.birth(0, 100, 16);
  counter.birth(0, 100, 32);
  counter.birth(0, 100, std::uint64_t{1} << 20);
  const std::vector<heap_row> rows = counter.rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].alignment, 0u);
  EXPECT_EQ(rows[0].births, 2u);
  EXPECT_EQ(rows[1].alignment, 32u);
  EXPECT_EQ(rows[2].alignment, std::uint64_t{1} << 20);
  EXPECT_TRUE(heap_counter().rows().empty());
}

}  // namespace
}  // namespace ashlar::profiling
