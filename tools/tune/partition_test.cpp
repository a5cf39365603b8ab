// The partition is the cheapest there is: against every partition of small random workloads, and against other rules.
#include "tools/tune/partition.hpp"

#include <algorithm>
#include <random>
#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

#include "tools/tune/interval_program.hpp"
#include "tools/tune/test_workloads.hpp"
#include "tools/tune/tuning.hpp"

namespace ashlar::tune {
namespace {

// The peak of an interval, by counting.
std::uint64_t counted_peak(const workload& load, interval served) {
  std::int64_t most = 0;
  for (const series& trace : load.traces) {
    std::int64_t alive = 0;
    for (const std::int32_t change : trace) {
      const auto n = static_cast<std::size_t>(need_of(change));
      if (n < served.first || n > served.last) continue;
      alive += is_birth(change) ? 1 : -1;
      most = std::max(most, alive);
    }
  }
  return static_cast<std::uint64_t>(most);
}

// The least bytes of all partitions, at [k - 1] of those into k parts or fewer: each of the 2^(needs - 1) is tried.
std::vector<std::uint64_t> least_of_all(const workload& load, std::uint64_t margin) {
  const std::size_t needs = load.needs.size();
  std::vector<std::vector<size_class>> made(needs, std::vector<size_class>(needs));
  for (std::size_t i = 0; i < needs; ++i) {
    for (std::size_t j = i; j < needs; ++j)
      made[i][j] = class_for(load.needs, {i, j}, counted_peak(load, {i, j}), margin);
  }
  std::vector<std::uint64_t> least(needs, UINT64_MAX);
  for (std::size_t cuts = 0; cuts < std::size_t{1} << (needs - 1); ++cuts) {
    std::vector<size_class> classes;
    std::size_t first = 0;
    for (std::size_t n = 0; n < needs; ++n) {
      if (n + 1 < needs && (cuts >> n & 1) == 0) continue;
      classes.push_back(made[first][n]);
      first = n + 1;
    }
    std::uint64_t& known = least[classes.size() - 1];
    known = std::min(known, set_bytes(classes));
  }
  for (std::size_t k = 1; k < needs; ++k) least[k] = std::min(least[k], least[k - 1]);
  return least;
}

TEST(Partition, IsTheCheapestOfAll) {
  for (std::uint32_t seed = 0; seed < support::times(10'000u); ++seed) {
    std::mt19937 random(seed);
    const workload load = small_random_workload(random);
    const std::uint64_t margin = random() % 3 == 0 ? random() % 60 : 0;
    const interval_peaks peaks(load);
    const std::vector<std::uint64_t> least = least_of_all(load, margin);
    const partition_search found =
        cheapest_partitions(peaks, load.needs.size(), search_for::each_number, margin);
    for (std::size_t k = 0; k < least.size(); ++k) {
      ASSERT_EQ(found.best[k].bytes, least[k]) << "seed " << seed << ", at most " << k + 1;
      ASSERT_EQ(set_bytes(found.best[k].classes), least[k]) << seed;
      ASSERT_LE(found.best[k].classes.size(), k + 1) << seed;
    }
    const std::size_t some = 1 + random() % least.size();
    ASSERT_EQ(cheapest_partitions(peaks, some, search_for::largest_only, margin).best.back().bytes,
              least[some - 1])
        << seed;
  }
}

TEST(Partition, ServesEachRequestByTheClassOfItsInterval) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const workload load = small_random_workload(random);
    const interval_peaks peaks(load);
    const partition best = cheapest_partitions(peaks, 3, search_for::largest_only, 0).best.back();
    std::size_t next = 0;
    for (std::size_t c = 0; c < best.parts.size(); ++c) {
      ASSERT_EQ(best.parts[c].first, next);
      ASSERT_EQ(best.classes[c].peak, counted_peak(load, best.parts[c])) << seed;
      for (; next <= best.parts[c].last; ++next) {
        // As pool_set's class_of: the smallest class that is large and aligned enough.
        const auto serves = std::ranges::find_if(best.classes, [&](const size_class& made) {
          return made.block_size >= load.needs[next].size &&
                 made.alignment >= load.needs[next].alignment;
        });
        ASSERT_EQ(serves - best.classes.begin(), static_cast<std::ptrdiff_t>(c)) << seed;
      }
    }
    ASSERT_EQ(next, load.needs.size());
  }
}

TEST(Partition, IsNeverWorseThanOtherRules) {
  for (std::uint32_t seed = 0; seed < support::times(300u); ++seed) {
    std::mt19937 random(seed);
    const workload load = seed % 2 == 0 ? small_random_workload(random)
                                        : random_workload(random, 60, 3000, 1 + random() % 3);
    const interval_peaks peaks(load);
    const std::uint64_t margin = random() % 20;
    const partition_search found =
        cheapest_partitions(peaks, load.needs.size(), search_for::each_number, margin);
    const auto least = [&](const std::vector<size_class>& other) {
      return found.best[std::min(other.size(), found.best.size()) - 1].bytes;
    };
    const auto powers = power_of_two_rule(peaks, margin);
    ASSERT_LE(least(powers), set_bytes(powers)) << seed;
    for (std::size_t k = 1; k <= load.needs.size(); k += 1 + k / 3) {
      const auto sums = summed_peaks_rule(peaks, k, margin);
      const auto greedy = greedy_rule(peaks, k, margin);
      ASSERT_LE(sums.size(), k) << seed;
      ASSERT_LE(greedy.size(), k) << seed;
      ASSERT_LE(found.best[k - 1].bytes, set_bytes(sums)) << seed;
      ASSERT_LE(found.best[k - 1].bytes, set_bytes(greedy)) << seed;
    }
  }
}

void expect_few_moments_to_be_a_witness(const workload& load) {
  const interval_peaks peaks(load);
  const partition_search found = cheapest_partitions(peaks, 8, search_for::each_number, 0);
  peak_bounds bounds(load.needs.size());
  for (const moment at : found.witness) bounds.raise(peaks.alive_below(at));
  interval_program program(load.needs, 8, 0);
  program.run(bounds);
  for (std::size_t k = 1; k <= 8; ++k) {
    EXPECT_EQ(program.least(k), found.best[k - 1].bytes);
    for (const interval part : found.best[k - 1].parts) {
      EXPECT_EQ(static_cast<std::uint64_t>(bounds.at(part.first, part.last)),
                counted_peak(load, part));
    }
  }
  EXPECT_LT(found.witness.size(), 200u);
}

TEST(Partition, FewMomentsAreAWitnessThatNothingIsCheaper) {
  std::mt19937 random(7);
  expect_few_moments_to_be_a_witness(random_workload(random, 200, 40'000, 2));
}

// So many needs that the search looks at groups of them first.
TEST(Partition, FewMomentsAreAWitnessForManyNeeds) {
  std::mt19937 random(9);
  workload load;
  while (load.needs.size() <= 5000) load = random_workload(random, 12'000, 30'000, 2);
  expect_few_moments_to_be_a_witness(load);
}

}  // namespace
}  // namespace ashlar::tune
