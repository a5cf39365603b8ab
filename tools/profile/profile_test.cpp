#include "tools/profile/profile.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

#include "tools/profile/profile_file.hpp"
#include "tools/profile/test_runs.hpp"

namespace ashlar::profiling {
namespace {

profile merged(profile a, const profile& b) {
  merge(a, b);
  return a;
}

TEST(Merge, AnyOrderAndAnyGroupingGiveTheSameBytes) {
  for (std::uint64_t seed = 0; seed < support::times(20u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<profile> parts(5);
    for (profile& part : parts) part = test::random_profile(random);
    parts[random() % parts.size()] = merged(parts[0], parts[1]);  // one is of several runs
    profile all;
    for (const profile& part : parts) merge(all, part);
    const std::string bytes = encode(all);

    std::array<std::size_t, 5> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      profile other;
      for (const std::size_t n : order) merge(other, parts[n]);
      ASSERT_EQ(other, all);
    } while (std::next_permutation(order.begin(), order.end()));

    // Any two neighbours become one, until one is left: every tree over some order.
    for (int tree = 0; tree < 20; ++tree) {
      std::vector<profile> left = parts;
      std::shuffle(left.begin(), left.end(), random);
      while (left.size() > 1) {
        const std::size_t n = random() % (left.size() - 1);
        merge(left[n], left[n + 1]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(n) + 1);
      }
      ASSERT_EQ(encode(left.front()), bytes);
    }
  }
}

TEST(Merge, TheEmptyProfileIsNeutral) {
  std::mt19937_64 random(3);
  const profile some = test::random_profile(random);
  EXPECT_EQ(merged(some, {}), some);
  EXPECT_EQ(merged({}, some), some);
  EXPECT_EQ(merged({}, {}), profile{});
}

TEST(Merge, PeaksAreTheMostOfAnyRunAndNotOfTheirSum) {
  for (std::uint64_t seed = 0; seed < support::times(60u); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::array<profile, 3> parts = {
        test::random_profile(random), test::random_profile(random), test::random_profile(random)};
    const profile all = merged(merged(parts[0], parts[1]), parts[2]);
    for (std::uint32_t first = 0; first < pool_grid::count; first += 3) {
      for (std::uint32_t last = first; last < pool_grid::count; last += 2) {
        std::uint32_t most = 0;
        for (const profile& part : parts) most = std::max(most, part.peak_between(first, last));
        ASSERT_EQ(all.peak_between(first, last), most) << first << " to " << last;
      }
    }
    std::uint64_t births = 0;
    std::uint64_t deaths = 0;
    std::uint64_t peak_bytes = 0;
    for (const profile& part : parts) {
      births += part.births();
      deaths += part.deaths();
      peak_bytes = std::max(peak_bytes, part.peak_bytes);
    }
    EXPECT_EQ(all.runs, 3u);
    EXPECT_EQ(all.births(), births);
    EXPECT_EQ(all.deaths(), deaths);
    EXPECT_EQ(all.peak_bytes, peak_bytes);
  }
}

TEST(Merge, ARunTwiceHasItsPeaksOnceAndItsSumsTwice) {
  std::mt19937_64 random(11);
  profile once = test::random_profile(random);
  once.refused_requests = 7;
  profile twice = once;
  merge(twice, twice);
  EXPECT_EQ(twice.peaks, once.peaks);
  EXPECT_EQ(twice.peak_bytes, once.peak_bytes);
  EXPECT_EQ(twice.aligned, once.aligned);
  EXPECT_EQ(twice.runs, 2u);
  EXPECT_EQ(twice.refused_requests, 2 * once.refused_requests);
  ASSERT_EQ(twice.heap.size(), once.heap.size());
  for (std::size_t i = 0; i < once.heap.size(); ++i) {
    EXPECT_EQ(twice.heap[i].at_peak.blocks, 2 * once.heap[i].at_peak.blocks);
    EXPECT_EQ(twice.heap[i].mean_1024.bytes, 2 * once.heap[i].mean_1024.bytes);
  }
}

TEST(Merge, OfAlignedNeedsTheSmallestRequestStays) {
  profile a;
  a.aligned = {{.alignment = 64, .step = 7, .smallest = 40}};
  profile b;
  b.aligned = {{.alignment = 32, .step = 7, .smallest = 50},
               {.alignment = 64, .step = 7, .smallest = 33},
               {.alignment = 64, .step = 15, .smallest = 100}};
  EXPECT_EQ(merged(a, b).aligned, b.aligned);
  EXPECT_EQ(merged(b, a).aligned, b.aligned);
}

// Else a sum that wrapped around would depend on nothing that was merged.
TEST(Merge, SumsSaturate) {
  profile many;
  many.runs = UINT64_MAX - 1;
  many.heap = {{.step = 1, .births = UINT64_MAX, .at_peak = {UINT64_MAX, 5}, .mean_1024 = {}}};
  const profile more = merged(many, many);
  EXPECT_EQ(more.runs, UINT64_MAX);
  EXPECT_EQ(more.heap[0].births, UINT64_MAX);
  EXPECT_EQ(more.heap[0].at_peak, (alive{UINT64_MAX, 10}));
  EXPECT_EQ(merged(merged(many, more), many), merged(many, merged(more, many)));
}

TEST(Profile, PeakBetweenTakesAnySteps) {
  const profile some = test::profiled({{.time = 1, .size = 8},
                                       {.time = 2, .size = 24},
                                       {.time = 3, .size = 24},
                                       {.time = 4, .size = pool_grid::largest_size}});
  EXPECT_EQ(some.peak_between(0, 0), 1u);
  EXPECT_EQ(some.peak_between(1, 1), 0u);
  EXPECT_EQ(some.peak_between(0, 1), 1u);
  EXPECT_EQ(some.peak_between(1, 2), 2u);
  EXPECT_EQ(some.peak_between(2, 1), 0u);
  EXPECT_EQ(some.peak_between(0, pool_grid::count - 1), 4u);
  EXPECT_EQ(some.peak_between(3, pool_grid::count - 1), 1u);
  EXPECT_EQ(some.peak_blocks(), 4u);
  EXPECT_EQ(profile{}.peak_between(0, pool_grid::count - 1), 0u);
  EXPECT_EQ(profile{}.peak_blocks(), 0u);
}

}  // namespace
}  // namespace ashlar::profiling
