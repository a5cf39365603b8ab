#include "tools/sites/trend.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ashlar::sites {
namespace {

using values = std::vector<std::uint64_t>;

TEST(Trend, ARiseByOneEachTime) {
  values rising(10);
  std::iota(rising.begin(), rising.end(), 100u);
  const trend found = trend_of(rising);
  EXPECT_DOUBLE_EQ(found.slope, 1);
  EXPECT_DOUBLE_EQ(found.tau, 1);
  // S = 45, V = 10 * 9 * 25 / 18 = 125, Z = 44 / sqrt(125) = 3.935; Phi(Z) from a table.
  EXPECT_NEAR(found.confidence, 0.999958, 1e-6);
}

TEST(Trend, EqualValuesLowerTheVariance) {
  // S = 8, V = (5 * 4 * 15 - 2 * (2 * 1 * 9)) / 18 = 14.667, Z = 7 / 3.830 = 1.828.
  const trend found = trend_of(values{1, 1, 2, 2, 3});
  EXPECT_DOUBLE_EQ(found.tau, 0.8);
  EXPECT_NEAR(found.confidence, 0.96623, 1e-4);
  // The slopes: 0 0 1/3 1/2 1/2 1/2 1/2 2/3 1 1.
  EXPECT_DOUBLE_EQ(found.slope, 0.5);
}

TEST(Trend, ASingleOutlierDoesNotMoveTheSlope) {
  values rising(30);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = 7 * i;
  rising[12] = 1'000'000'000;
  EXPECT_NEAR(trend_of(rising).slope, 7, 0.01);
}

TEST(Trend, AFallAndAConstantAreNoRise) {
  const trend fall = trend_of(values{9, 7, 5, 3});
  EXPECT_DOUBLE_EQ(fall.slope, -2);
  EXPECT_DOUBLE_EQ(fall.tau, -1);
  EXPECT_DOUBLE_EQ(fall.confidence, 0);
  const trend constant = trend_of(values(64, 4711));
  EXPECT_DOUBLE_EQ(constant.slope, 0);
  EXPECT_DOUBLE_EQ(constant.confidence, 0);
  for (const values& few : {values{}, values{5}}) EXPECT_DOUBLE_EQ(trend_of(few).slope, 0);
}

TEST(Trend, TheSlopeIsTheMedianOfAllPairs) {
  std::mt19937 random(1);
  for (std::size_t n = 2; n < 20; ++n) {
    values some(n);
    for (auto& value : some) value = random() % 100;
    std::vector<double> slopes;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j)
        slopes.push_back((static_cast<double>(some[j]) - static_cast<double>(some[i])) /
                         static_cast<double>(j - i));
    std::ranges::sort(slopes);
    const double median = (slopes[(slopes.size() - 1) / 2] + slopes[slopes.size() / 2]) / 2;
    EXPECT_DOUBLE_EQ(trend_of(some).slope, median);
  }
}

// That is what a confidence means: of independent values without a trend, 1 % get one above 99 %.
TEST(Trend, NoTrendIsRarelySure) {
  std::mt19937 random(2);
  int sure = 0;
  constexpr int tries = 10'000;
  for (int i = 0; i < tries; ++i) {
    values some(21);
    for (auto& value : some) value = random() % 1000;
    sure += test_of(some).confidence > 0.99 ? 1 : 0;
  }
  EXPECT_GT(sure, tries / 200);
  EXPECT_LT(sure, tries / 67);
}

}  // namespace
}  // namespace ashlar::sites
