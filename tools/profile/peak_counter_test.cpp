#include "tools/profile/peak_counter.hpp"

#include <algorithm>
#include <random>
#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

namespace ashlar::profiling {
namespace {

constexpr std::size_t steps = peak_counter::steps;

/// The definition, event by event.
class counted {
 public:
  void birth(std::uint32_t step) {
    used_[step] = true;
    ++alive_[step];
    for (std::size_t first = 0; first <= step; ++first) {
      std::uint32_t sum = 0;
      for (std::size_t last = first; last < steps; ++last) {
        sum += alive_[last];
        std::uint32_t& most = most_[first * steps + last];
        most = std::max(most, sum);
      }
    }
  }
  void death(std::uint32_t step) { --alive_[step]; }
  [[nodiscard]] bool used(std::size_t step) const { return used_[step]; }
  [[nodiscard]] std::uint32_t peak(std::size_t first, std::size_t last) const {
    return most_[first * steps + last];
  }

 private:
  std::vector<bool> used_ = std::vector<bool>(steps);
  std::vector<std::uint32_t> alive_ = std::vector<std::uint32_t>(steps);
  std::vector<std::uint32_t> most_ = std::vector<std::uint32_t>(steps * steps);
};

void expect_same(peak_counter& found, const counted& right) {
  const peak_counter::result all = found.snapshot();
  std::vector<std::uint32_t> used;
  for (std::uint32_t step = 0; step < steps; ++step)
    if (right.used(step)) used.push_back(step);
  ASSERT_EQ(all.used, used);
  ASSERT_EQ(all.peaks.count(), used.size());
  for (std::size_t first = 0; first < used.size(); ++first)
    for (std::size_t last = first; last < used.size(); ++last)
      ASSERT_EQ(all.peaks.at(first, last), right.peak(used[first], used[last]))
          << used[first] << " to " << used[last];
}

struct shape {
  peak_counter::window_limits window;
  std::size_t changes;
  std::size_t most_sizes;
};

void compare_on_random_runs(const shape& of, std::uint32_t seeds) {
  for (std::uint32_t seed = 0; seed < support::times(seeds); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", window of " << of.window.sizes
                                    << " sizes, " << of.window.events << " events");
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    peak_counter found(of.window);
    counted right;
    std::vector<std::uint32_t> live;
    std::vector<std::uint32_t> sizes(1 + below(of.most_sizes));
    for (std::uint32_t& size : sizes) size = static_cast<std::uint32_t>(below(steps));
    std::size_t deaths_in_hundred = 45;
    std::size_t in_use = 1;  // of `sizes`: they come into use by and by
    for (std::size_t c = 0; c < of.changes; ++c) {
      if (below(30) == 0) {
        deaths_in_hundred = 10 + below(85);
        in_use = std::min(sizes.size(), in_use + below(4));
      }
      if (!live.empty() && below(100) < deaths_in_hundred) {
        const std::size_t which = below(live.size());
        found.death(live[which]);
        right.death(live[which]);
        live[which] = live.back();
        live.pop_back();
      } else {
        live.push_back(sizes[below(in_use)]);
        found.birth(live.back());
        right.birth(live.back());
      }
      if (below(of.changes) == 0) expect_same(found, right);  // a look in between changes nothing
    }
    expect_same(found, right);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(PeakCounter, EqualsCountingHoweverWindowsAreCut) {
  compare_on_random_runs({{1, 1}, 100, 20}, 8);
  compare_on_random_runs({{1, 1024}, 100, 20}, 8);
  compare_on_random_runs({{2, 5}, 200, 20}, 8);
  compare_on_random_runs({{3, 1024}, 300, 8}, 8);
  compare_on_random_runs({{9, 40}, 500, 30}, 8);
}

TEST(PeakCounter, EqualsCountingWithTheWindowsOfEveryRun) {
  compare_on_random_runs({{}, 100, 3}, 8);
  compare_on_random_runs({{}, 3000, 40}, 3);
  compare_on_random_runs({{}, 5000, 300}, 2);
}

TEST(PeakCounter, NothingHappenedInAnEmptyRun) {
  peak_counter none;
  EXPECT_TRUE(none.snapshot().used.empty());
  EXPECT_EQ(none.snapshot().peaks.count(), 0u);
}

TEST(PeakCounter, ASizeThatComesLateHasThePeaksOfLargerOnesBeforeIt) {
  peak_counter counter;
  for (int n = 0; n < 5; ++n) counter.birth(10);
  for (int n = 0; n < 4; ++n) counter.death(10);
  ASSERT_EQ(counter.snapshot().peaks.at(0, 0), 5u);
  counter.birth(7);
  counter.birth(12);
  const peak_counter::result all = counter.snapshot();
  EXPECT_EQ(all.used, (std::vector<std::uint32_t>{7, 10, 12}));
  EXPECT_EQ(all.peaks.at(0, 0), 1u);
  EXPECT_EQ(all.peaks.at(0, 1), 5u);
  EXPECT_EQ(all.peaks.at(0, 2), 5u);
  EXPECT_EQ(all.peaks.at(1, 2), 5u);
  EXPECT_EQ(all.peaks.at(2, 2), 1u);
}

}  // namespace
}  // namespace ashlar::profiling
