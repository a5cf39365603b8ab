#include "tools/measure/rounds.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace ashlar::measure {
namespace {

TEST(SampleStatistics, AreTheSameForEveryOrderOfTheSamples) {
  std::vector<double> samples{4, 1, 3, 2, 10};
  std::ranges::sort(samples);
  do {
    const spread values = spread_of(samples);
    ASSERT_EQ(values.median, 3);
    ASSERT_EQ(values.min, 1);
    ASSERT_EQ(values.max, 10);
    ASSERT_EQ(values.count, 5u);
  } while (std::next_permutation(samples.begin(), samples.end()));
}

TEST(SampleStatistics, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(spread_of({4, 1, 2, 100}).median, 3);
  EXPECT_EQ(spread_of({7}).median, 7);
  EXPECT_EQ(spread_of({}).count, 0u);
}

TEST(SampleStatistics, ARatioToNothingIsNothing) {
  EXPECT_EQ(ratio_to(3, 2), 1.5);
  EXPECT_EQ(ratio_to(3, 0), 0);
}

TEST(Rounds, EveryOrderComesUpAndASeedRepeatsIt) {
  std::mt19937_64 generator(1);
  std::mt19937_64 again(1);
  std::set<std::vector<std::size_t>> orders;
  for (int i = 0; i < 1000; ++i) {
    const auto order = shuffled_order(4, generator);
    ASSERT_EQ(order, shuffled_order(4, again));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 24u);
}

}  // namespace
}  // namespace ashlar::measure
