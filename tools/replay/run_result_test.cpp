// tools/replay/run_result_test.cpp: percentiles of counted latencies against those of the sorted list.
#include "tools/replay/run_result.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ashlar::replay {
namespace {

TEST(LatencyCounts, GiveThePercentilesOfTheListToAStep) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    auto counts = std::make_unique<latency_counts>();
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t ns = random() % 3000;
      all.push_back(ns);
      counts->add(ns);
    }
    std::ranges::sort(all);
    EXPECT_EQ(counts->longest_ns(), all.back());
    for (const double share : {0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(share * 5000)) - 1;
      const std::uint64_t step_end = (all[rank] / 10 + 1) * 10;
      EXPECT_EQ(counts->percentile_ns(share), std::min(step_end, all.back())) << share;
    }
  }
}

TEST(LatencyCounts, TheBoundedAverageLeavesInterruptionsOut) {
  auto counts = std::make_unique<latency_counts>();
  EXPECT_EQ(counts->bounded_average_ns(0.999), 0);
  for (int i = 0; i < 9990; ++i) counts->add(i % 2 == 0 ? 22 : 48);
  EXPECT_DOUBLE_EQ(counts->bounded_average_ns(0.999), 35);  // middles of steps: 25 and 45
  for (int i = 0; i < 10; ++i) counts->add(4'000'000);
  EXPECT_NEAR(counts->bounded_average_ns(0.999), 35, 0.1);
  EXPECT_GT(counts->bounded_average_ns(1), 2000);
}

TEST(LatencyCounts, LongOnesAreCountedByDoublings) {
  auto counts = std::make_unique<latency_counts>();
  for (int i = 0; i < 99; ++i) counts->add(50);
  counts->add(1'000'000);
  counts->add(70'000'000'000);
  EXPECT_EQ(counts->calls(), 101u);
  EXPECT_EQ(counts->percentile_ns(0.5), 60u);
  EXPECT_GE(counts->percentile_ns(0.985), 1'000'000u);
  EXPECT_LE(counts->percentile_ns(0.985), 2'000'000u);
  EXPECT_EQ(counts->percentile_ns(1.0), 70'000'000'000u);
  counts->add(UINT64_MAX);
  EXPECT_EQ(counts->longest_ns(), UINT64_MAX);
}

TEST(LatencyCounts, AddUp) {
  auto one = std::make_unique<latency_counts>();
  auto two = std::make_unique<latency_counts>();
  one->add(15);
  two->add(500);
  two->add(505);
  one->add(*two);
  EXPECT_EQ(one->calls(), 3u);
  EXPECT_EQ(one->percentile_ns(0.3), 20u);
  EXPECT_EQ(one->percentile_ns(0.9), 505u);
  EXPECT_EQ(std::make_unique<latency_counts>()->percentile_ns(0.5), 0u);
}

}  // namespace
}  // namespace ashlar::replay
