#include "tools/tune/borrowing.hpp"

#include <algorithm>
#include <random>
#include <tests/support/extent.hpp>

#include <gtest/gtest.h>

#include <ashlar/pool/pool_set.hpp>

#include "tools/tune/test_workloads.hpp"

namespace ashlar::tune {
namespace {

std::vector<std::uint32_t> class_of_each(const partition& from) {
  std::vector<std::uint32_t> class_of;
  for (std::uint32_t c = 0; c < from.parts.size(); ++c)
    class_of.insert(class_of.end(), from.parts[c].last - from.parts[c].first + 1, c);
  return class_of;
}

TEST(Borrowing, ServesTheTracesWithNoMoreBytesAndNoFewerThanItsBound) {
  std::size_t saved = 0;
  for (std::uint32_t seed = 0; seed < support::times(300u); ++seed) {
    std::mt19937 random(seed);
    const workload load =
        random_workload(random, 40, 600, 1 + random() % 2, workload_builder::keep::needs_and_slots);
    const interval_peaks peaks(load);
    const std::uint64_t margin = random() % 2 * 10;
    const partition best =
        cheapest_partitions(peaks, 1 + random() % 6, search_for::largest_only, margin).best.back();
    const borrowing found = lowered_by_borrowing(peaks, best, margin);
    ASSERT_LE(found.bytes, best.bytes);
    ASSERT_EQ(found.bytes, set_bytes(found.classes));
    ASSERT_TRUE(serves_by_borrowing(load, class_of_each(best), found.classes)) << seed;
    std::uint64_t block_bytes = 0;
    for (const size_class& c : found.classes)
      block_bytes += c.capacity * align_up(c.block_size, c.alignment);
    ASSERT_GE(block_bytes, found.least_block_bytes) << seed;
    saved += best.bytes - found.bytes;
  }
  EXPECT_GT(saved, 0u);
}

TEST(Borrowing, NoCapacitiesThatServeHaveFewerBytesInBlocksThanTheBound) {
  std::size_t too_few = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const workload load =
        random_workload(random, 12, 25, 1, workload_builder::keep::needs_and_slots);
    const interval_peaks peaks(load);
    const partition best = cheapest_partitions(peaks, 3, search_for::largest_only, 0).best.back();
    const std::uint64_t bound = lowered_by_borrowing(peaks, best, 0).least_block_bytes;
    // Every vector of capacities up to the births.
    std::vector<size_class> tried = best.classes;
    for (size_class& c : tried) c.capacity = 1;
    for (;;) {
      std::uint64_t block_bytes = 0;
      for (const size_class& c : tried)
        block_bytes += c.capacity * align_up(c.block_size, c.alignment);
      if (block_bytes < bound) {
        ASSERT_FALSE(serves_by_borrowing(load, class_of_each(best), tried)) << seed;
        ++too_few;
      }
      std::size_t c = 0;
      while (c < tried.size() && tried[c].capacity == 25) tried[c++].capacity = 1;
      if (c == tried.size()) break;
      ++tried[c].capacity;
    }
  }
  EXPECT_GT(too_few, 1000u);
}

// The replay is what a real set does.
TEST(Borrowing, ServesAsARealSetServes) {
  using set = static_pool_set<blocks<32, 3>, blocks<64, 2, 64>, blocks<128, 2, 16>>;
  std::vector<size_class> classes;
  for (std::size_t c = 0; c < set::class_count; ++c)
    classes.push_back({set::block_size(c), set::block_alignment(c), 0, set::block_count(c), 0});
  std::size_t served = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    workload load{{{32, 16}, {64, 64}, {128, 16}}, {{}}, {{}}};
    std::vector<std::uint32_t> class_of{0, 1, 2};
    set real;
    std::vector<void*> blocks;
    std::vector<std::int32_t> kind;
    bool fails = false;
    for (int e = 0; e < 24; ++e) {
      const auto slot =
          static_cast<std::uint32_t>(std::min(random() % (2 * blocks.size() + 1), blocks.size()));
      if (slot < blocks.size()) {
        if (kind[slot] < 0) continue;
        real.deallocate(blocks[slot]);
        load.traces[0].push_back(~kind[slot]);
        kind[slot] = -1;
      } else {
        const auto need = static_cast<std::int32_t>(random() % 3);
        const block_need& asked = load.needs[static_cast<std::size_t>(need)];
        blocks.push_back(real.try_allocate(asked.size, asked.alignment));
        kind.push_back(need);
        load.traces[0].push_back(need);
        fails = blocks.back() == nullptr;
      }
      load.slots[0].push_back(slot);
      if (fails) break;
    }
    ASSERT_EQ(serves_by_borrowing(load, class_of, classes), !fails) << seed;
    served += fails ? 0 : 1;
  }
  EXPECT_GT(served, 20u);
  EXPECT_LT(served, 380u);
}

}  // namespace
}  // namespace ashlar::tune
