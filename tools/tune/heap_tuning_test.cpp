// The choice against trying all choices; what is always there. (That blocks are counted right: tools/profile.)
#include "tools/tune/heap_tuning.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>
#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

#include <ashlar/heap/class_table.hpp>

#include "tools/profile/size_grid.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::tune;

using profiling::heap_grid;
using profiling::heap_row;

heap_row asked(std::uint64_t size, std::uint64_t blocks, std::uint64_t alignment = 0) {
  return {.step = heap_grid::step_of(size),
          .alignment = heap_grid::alignment_of(alignment),
          .births = 1,
          .at_peak = {.blocks = blocks, .bytes = blocks * size},
          .mean_1024 = {}};
}

bool has(const heap_classes& chosen, std::uint32_t size) {
  return std::ranges::find(chosen.sizes, size) != chosen.sizes.end();
}

/// Classes that serve something cost; so does slack.
double cost_of(const std::vector<heap_row>& sizes, const std::vector<std::uint32_t>& classes) {
  std::map<std::uint32_t, bool> used;
  for (const heap_row& of : sizes)
    used[*std::ranges::lower_bound(classes, heap_grid::size_of(of.step))] = true;
  return slack_with(sizes, classes).at_peak + static_cast<double>(used.size() * heap_class_bytes);
}

TEST(HeapClasses, AreTheCheapestOfAllChoices) {
  std::mt19937 random(20261122);
  const auto below = [&random](std::uint32_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  for (int round = 0; round < support::times(300); ++round) {
    std::vector<heap_row> sizes;
    const std::uint32_t kinds = 1 + below(9);
    for (std::uint32_t i = 0; i < kinds; ++i)
      sizes.push_back(asked(1 + below(below(2) == 0 ? 600 : 5000), below(4000)));
    std::vector<std::uint32_t> ladder, free;
    for (std::uint32_t size = 16; size <= small_size_max; size *= 2) ladder.push_back(size);
    for (const heap_row& of : sizes) {
      const auto block = static_cast<std::uint32_t>(heap_grid::size_of(of.step));
      if (!std::has_single_bit(block) && std::ranges::find(free, block) == free.end())
        free.push_back(block);
    }
    const std::size_t most = ladder.size() + below(6);
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t set = 0; set < 1u << free.size(); ++set) {
      if (ladder.size() + static_cast<std::size_t>(std::popcount(set)) > most) continue;
      std::vector<std::uint32_t> classes = ladder;
      for (std::size_t i = 0; i < free.size(); ++i)
        if ((set >> i & 1) != 0) classes.push_back(free[i]);
      std::ranges::sort(classes);
      least = std::min(least, cost_of(sizes, classes));
    }
    const heap_classes chosen = choose_heap_classes(sizes, {.classes = most, .by = weigh::at_peak});
    EXPECT_LE(chosen.sizes.size(), most);
    ASSERT_NEAR(cost_of(sizes, chosen.sizes), least, 1e-6 * least) << "round " << round;
  }
}

TEST(HeapClasses, AHeapCanHaveThemWhateverWasAsked) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    std::vector<heap_row> sizes;
    for (int i = 0; i < 400; ++i)
      sizes.push_back(
          asked(random() % 200'000, random() % 1'000'000, std::uint64_t{1} << random() % 15));
    const std::size_t most = least_heap_classes() + random() % (class_count - least_heap_classes());
    const heap_classes chosen = choose_heap_classes(sizes, {.classes = most});
    std::size_t at = 0;
    ASSERT_EQ(ashlar::detail::what_is_wrong_with(chosen.sizes, at), nullptr);
    EXPECT_LE(chosen.sizes.size(), most);
    for (std::uint32_t size = 16; size <= small_size_max; size *= 2) EXPECT_TRUE(has(chosen, size));
  }
}

TEST(HeapClasses, ManyBlocksOfASizeGetTheirClassAndFewDoNot) {
  const std::vector<heap_row> sizes = {asked(1100, 10'000), asked(1024, 5000), asked(600, 3)};
  const heap_classes chosen = choose_heap_classes(sizes, {});
  EXPECT_TRUE(has(chosen, 1104));
  EXPECT_FALSE(has(chosen, 608)) << "3 blocks' slack on 1024 is less than a class costs";
  EXPECT_EQ(chosen.used, 2u);
  EXPECT_DOUBLE_EQ(chosen.slack.at_peak, 10'000.0 * 4 + 3 * (1024 - 600));
  EXPECT_DOUBLE_EQ(chosen.standard_slack.at_peak, 10'000.0 * (1152 - 1100) + 3 * (640 - 600));
}

TEST(HeapClasses, OverAlignedRequestsGetAMultipleOfTheirAlignment) {
  const std::vector<heap_row> sizes = {asked(192, 10'000, 64), asked(100, 10'000),
                                       asked(200, 10'000), asked(96, 1, 32)};
  const heap_classes chosen = choose_heap_classes(sizes, {});
  EXPECT_TRUE(has(chosen, 192));
  EXPECT_TRUE(has(chosen, 112));
  EXPECT_TRUE(has(chosen, 208));
  EXPECT_FALSE(has(chosen, 96));
  EXPECT_DOUBLE_EQ(chosen.slack.at_peak, 10'000.0 * (0 + 12 + 8) + 32);
}

TEST(HeapClasses, RequestsWithoutAClassDoNotCount) {
  const heap_classes chosen =
      choose_heap_classes(std::vector{asked(small_size_max + 1, 1000), asked(100, 1000, 8192)}, {});
  EXPECT_EQ(chosen.used, 0u);
  EXPECT_EQ(chosen.sizes.size(), least_heap_classes());
  EXPECT_DOUBLE_EQ(chosen.requested.at_peak, 0.0);
}

}  // namespace
