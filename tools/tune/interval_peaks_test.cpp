#include "tools/tune/interval_peaks.hpp"

#include <algorithm>
#include <random>
#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

#include "tools/tune/interval_program.hpp"
#include "tools/tune/test_workloads.hpp"

namespace ashlar::tune {
namespace {

// At [n], the blocks alive for needs before n.
std::vector<std::int32_t> counted_below(const workload& load, moment at) {
  std::vector<std::int32_t> below(load.needs.size() + 1);
  for (std::size_t c = 0; c < at.changes; ++c) {
    const std::int32_t change = load.traces[at.trace][c];
    for (std::size_t n = static_cast<std::size_t>(need_of(change)) + 1; n < below.size(); ++n)
      below[n] += is_birth(change) ? 1 : -1;
  }
  return below;
}

TEST(IntervalPeaks, AreThoseThatCountingFinds) {
  for (std::uint32_t seed = 0; seed < support::times(20u); ++seed) {
    std::mt19937 random(seed);
    const workload load = random_workload(random, 30, 1 + random() % 4000, 1 + random() % 3);
    const interval_peaks peaks(load);
    std::vector<std::vector<std::uint32_t>> most(load.needs.size(),
                                                 std::vector<std::uint32_t>(load.needs.size()));
    peak_bounds bounds(load.needs.size());
    for (std::uint32_t t = 0; t < load.traces.size(); ++t) {
      std::vector<std::int32_t> alive(load.needs.size());
      for (const std::int32_t change : load.traces[t]) {
        alive[static_cast<std::size_t>(need_of(change))] += is_birth(change) ? 1 : -1;
        for (std::size_t i = 0; i < alive.size(); ++i) {
          std::int32_t sum = 0;
          for (std::size_t j = i; j < alive.size(); ++j) {
            sum += alive[j];
            most[i][j] = std::max(most[i][j], static_cast<std::uint32_t>(sum));
          }
        }
      }
    }
    for (std::size_t i = 0; i < most.size(); ++i) {
      for (std::size_t j = i; j < most.size(); ++j) {
        const peak found = peaks.of({i, j});
        ASSERT_EQ(found.blocks, most[i][j]) << seed << ": " << i << " to " << j;
        const std::vector<std::int32_t> below = counted_below(load, found.at);
        ASSERT_EQ(peaks.alive_below(found.at), below) << seed;
        ASSERT_EQ(static_cast<std::uint32_t>(below[j + 1] - below[i]), found.blocks) << seed;
        bounds.raise(below);
        ASSERT_GE(static_cast<std::uint32_t>(bounds.at(i, j)), found.blocks);
      }
    }
    for (std::size_t i = 0; i < most.size(); ++i) {
      for (std::size_t j = i; j < most.size(); ++j)
        ASSERT_EQ(static_cast<std::uint32_t>(bounds.at(i, j)), most[i][j])
            << "a bound above a peak";
    }
    const std::size_t middle = most.size() / 2;
    if (middle == 0) continue;
    const interval halves[] = {{0, middle - 1}, {middle, most.size() - 1}};
    const std::vector<peak> both = peaks.of(halves);
    EXPECT_EQ(both[0].blocks, most[0][middle - 1]);
    EXPECT_EQ(both[1].blocks, most[middle].back());
  }
}

// So many needs that they are in groups of groups; windows that cannot have a peak are not read.
TEST(IntervalPeaks, OfManyNeedsAreThoseThatCountingFinds) {
  for (std::uint32_t seed = 0; seed < support::times(6u); ++seed) {
    std::mt19937 random(seed);
    const workload load = random_workload(random, 3000, 30'000, 2);
    const std::size_t needs = load.needs.size();
    const interval_peaks peaks(load);
    for (int round = 0; round < 25; ++round) {
      const std::size_t first = random() % needs;
      const std::size_t last = first + random() % (round % 2 == 0 ? needs - first : 1);
      std::int32_t most = 0;
      for (const series& trace : load.traces) {
        std::int32_t alive = 0;
        for (const std::int32_t change : trace) {
          const auto n = static_cast<std::size_t>(need_of(change));
          if (n < first || n > last) continue;
          most = std::max(most, alive += is_birth(change) ? 1 : -1);
        }
      }
      ASSERT_EQ(peaks.of({first, last}).blocks, static_cast<std::uint32_t>(most))
          << seed << ": " << first << " to " << last;
    }
  }
}

}  // namespace
}  // namespace ashlar::tune
