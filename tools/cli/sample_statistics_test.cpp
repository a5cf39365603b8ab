#include "tools/cli/sample_statistics.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace ashlar::cli {
namespace {

TEST(SampleStatistics, AreTheSameForEveryOrderOfTheSamples) {
  std::vector<double> samples{4, 1, 3, 2, 10};
  std::sort(samples.begin(), samples.end());
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

}  // namespace
}  // namespace ashlar::cli
