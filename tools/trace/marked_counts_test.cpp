#include "tools/trace/marked_counts.hpp"

#include <random>

#include <gtest/gtest.h>

namespace ashlar::trace {
namespace {

TEST(MarkedCounts, RememberWhatTheyWereAtTheMark) {
  std::mt19937 random(1);
  marked_counts counts(5);
  std::vector<std::int64_t> now(5);
  std::vector<std::int64_t> marked(5);
  for (int i = 0; i < 20000; ++i) {
    if (random() % 4 == 0) {
      counts.mark();
      marked = now;
    }
    const std::size_t at = random() % 5;
    const auto change = static_cast<std::int64_t>(random() % 100) - 50;
    counts.add(at, change);
    now[at] += change;
    for (std::size_t k = 0; k < 5; ++k) {
      ASSERT_EQ(counts.now(k), now[k]);
      ASSERT_EQ(counts.at_mark(k), marked[k]);
    }
  }
}

TEST(MarkedCounts, ACountThatComesLaterWasNothingAtTheMark) {
  marked_counts counts(1);
  counts.add(0, 7);
  counts.mark();
  const std::size_t later = counts.add_count();
  counts.add(later, 3);
  EXPECT_EQ(later, 1u);
  EXPECT_EQ(counts.now(later), 3);
  EXPECT_EQ(counts.at_mark(later), 0);
  counts.mark();
  EXPECT_EQ(counts.at_mark(later), 3);
  EXPECT_EQ(counts.at_mark(0), 7);
}

}  // namespace
}  // namespace ashlar::trace
