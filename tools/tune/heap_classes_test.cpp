// The choice against trying all choices; what is always there; counting live blocks at a peak and over time.
#include "tools/tune/heap_classes.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/class_table.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::tune;

live_size asked(std::uint64_t size, double blocks, std::uint64_t alignment = 0) {
  return {.size = size, .alignment = alignment, .at_peak = blocks, .mean = 0, .births = 1};
}

bool has(const heap_classes& chosen, std::uint32_t size) {
  return std::find(chosen.sizes.begin(), chosen.sizes.end(), size) != chosen.sizes.end();
}

/// Classes that serve something cost; so does slack.
double cost_of(const std::vector<live_size>& sizes, const std::vector<std::uint32_t>& classes) {
  std::map<std::uint32_t, bool> used;
  for (const live_size& of : sizes)
    used[*std::lower_bound(classes.begin(), classes.end(), of.size)] = true;
  return slack_with(sizes, classes).at_peak + static_cast<double>(used.size() * heap_class_bytes);
}

TEST(HeapClasses, AreTheCheapestOfAllChoices) {
  std::mt19937 random(20261122);
  const auto below = [&random](std::uint32_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<live_size> sizes;
    const std::uint32_t kinds = 1 + below(9);
    for (std::uint32_t i = 0; i < kinds; ++i)
      sizes.push_back(asked(1 + below(below(2) == 0 ? 600 : 5000), below(4000)));
    std::vector<std::uint32_t> ladder, free;
    for (std::uint32_t size = 16; size <= small_size_max; size *= 2) ladder.push_back(size);
    for (const live_size& of : sizes) {
      const auto block = static_cast<std::uint32_t>(align_up(of.size, std::size_t{16}));
      if (!std::has_single_bit(block) && std::find(free.begin(), free.end(), block) == free.end())
        free.push_back(block);
    }
    const std::size_t most = ladder.size() + below(6);
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t set = 0; set < 1u << free.size(); ++set) {
      if (ladder.size() + static_cast<std::size_t>(std::popcount(set)) > most) continue;
      std::vector<std::uint32_t> classes = ladder;
      for (std::size_t i = 0; i < free.size(); ++i)
        if ((set >> i & 1) != 0) classes.push_back(free[i]);
      std::sort(classes.begin(), classes.end());
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
    std::vector<live_size> sizes;
    for (int i = 0; i < 400; ++i)
      sizes.push_back(asked(random() % 200'000, static_cast<double>(random() % 1'000'000),
                            std::uint64_t{1} << random() % 15));
    const std::size_t most = least_heap_classes() + random() % (class_count - least_heap_classes());
    const heap_classes chosen = choose_heap_classes(sizes, {.classes = most});
    std::size_t at = 0;
    ASSERT_EQ(ashlar::detail::what_is_wrong_with(chosen.sizes, at), nullptr);
    EXPECT_LE(chosen.sizes.size(), most);
    for (std::uint32_t size = 16; size <= small_size_max; size *= 2) EXPECT_TRUE(has(chosen, size));
  }
}

TEST(HeapClasses, ManyBlocksOfASizeGetTheirClassAndFewDoNot) {
  const std::vector<live_size> sizes = {asked(1100, 10'000), asked(1024, 5000), asked(600, 3)};
  const heap_classes chosen = choose_heap_classes(sizes, {});
  EXPECT_TRUE(has(chosen, 1104));
  EXPECT_FALSE(has(chosen, 608)) << "3 blocks' slack on 1024 is less than a class costs";
  EXPECT_EQ(chosen.used, 2u);
  EXPECT_DOUBLE_EQ(chosen.slack.at_peak, 10'000.0 * 4 + 3 * (1024 - 600));
  EXPECT_DOUBLE_EQ(chosen.standard_slack.at_peak, 10'000.0 * (1152 - 1100) + 3 * (640 - 600));
}

TEST(HeapClasses, OverAlignedRequestsGetAMultipleOfTheirAlignment) {
  const std::vector<live_size> sizes = {asked(192, 10'000, 64), asked(100, 10'000),
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

TEST(LiveSizes, AreThoseOfTheFirstHighestMomentAndTheMeanOverTime) {
  live_size_counter counter;
  counter.birth(0, 100, 0);
  counter.birth(10, 100, 0);
  counter.birth(10, 50, 64);  // 250 bytes: the peak
  counter.death(20, 100, 0);
  counter.birth(20, 100, 0);  // 250 again: the first counts
  counter.death(30, 50, 64);
  counter.birth(30, 20, 0);
  counter.death(40, 100, 0);
  counter.death(40, 100, 0);
  const std::vector<live_size> sizes = counter.finish();
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_EQ(sizes[0].size, 20u);
  EXPECT_DOUBLE_EQ(sizes[0].at_peak, 0);
  EXPECT_DOUBLE_EQ(sizes[0].mean, 0.25);
  EXPECT_EQ(sizes[1].size, 50u);
  EXPECT_EQ(sizes[1].alignment, 64u);
  EXPECT_DOUBLE_EQ(sizes[1].at_peak, 1);
  EXPECT_DOUBLE_EQ(sizes[1].mean, 0.5);
  EXPECT_EQ(sizes[2].births, 3u);
  EXPECT_DOUBLE_EQ(sizes[2].at_peak, 2);
  EXPECT_DOUBLE_EQ(sizes[2].mean, 1.75);
  EXPECT_TRUE(counter.finish().empty());
}

TEST(LiveSizes, AtThePeakEqualACopyTakenThere) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    live_size_counter counter;
    std::map<std::uint64_t, double> live, at_peak;
    std::vector<std::uint64_t> blocks;
    std::uint64_t bytes = 0, most = 0;
    for (std::uint64_t time = 0; time < 300; ++time) {
      if (blocks.empty() || random() % 5 < 3) {
        const std::uint64_t size = random() % 8 * 24;
        counter.birth(time, size, 0);
        blocks.push_back(size);
        ++live[size];
        bytes += size;
        if (bytes > most) {
          most = bytes;
          at_peak = live;
        }
      } else {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        counter.death(time, blocks.back(), 0);
        --live[blocks.back()];
        bytes -= blocks.back();
        blocks.pop_back();
      }
    }
    for (const live_size& of : counter.finish()) ASSERT_DOUBLE_EQ(of.at_peak, at_peak[of.size]);
  }
}

}  // namespace
