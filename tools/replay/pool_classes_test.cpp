// tools/replay/pool_classes_test.cpp: which class serves, when none does, and what is counted.
#include "tools/replay/pool_classes.hpp"

#include <array>

#include <gtest/gtest.h>

namespace ashlar::replay {
namespace {

constexpr std::array<class_request, 3> classes{{{16, 16, 2}, {64, 16, 1}, {128, 64, 1}}};

TEST(PoolClasses, TheSmallestThatFitsServesToItsCapacityAndNoFurther) {
  pool_classes pools(classes, 16, false);
  void* const a = pools.allocate(1);
  void* const b = pools.allocate(16);
  ASSERT_TRUE(a != nullptr && b != nullptr && a != b);
  EXPECT_EQ(pools.usable_size(a), 16u);
  EXPECT_EQ(pools.allocate(16), nullptr);
  void* const c = pools.allocate(17);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(pools.usable_size(c), 64u);
  EXPECT_EQ(pools.allocate(64), nullptr);
  pools.release(a, 1);
  EXPECT_NE(pools.zeroed(0), nullptr);
  const auto results = pools.results();
  EXPECT_EQ(results[0].capacity, 2u);  // no more, though the system gives whole pages
  EXPECT_EQ(results[0].births, 4u);
  EXPECT_EQ(results[0].failures, 1u);
  EXPECT_EQ(results[0].peak, 2u);
  EXPECT_EQ(results[1].failures, 1u);
  EXPECT_EQ(results[2].births, 0u);
  EXPECT_TRUE(pools.audit());
}

TEST(PoolClasses, WhereTheySpillALargerOneServes) {
  pool_classes pools(classes, 16, true);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(pools.usable_size(pools.allocate(16)), 16u);
  void* const spilt = pools.allocate(16);
  EXPECT_EQ(pools.usable_size(spilt), 64u);
  EXPECT_EQ(pools.usable_size(pools.allocate(16)), 128u);
  EXPECT_EQ(pools.allocate(16), nullptr);
  pools.release(spilt, 16);
  EXPECT_EQ(pools.usable_size(pools.allocate(50)), 64u);
  EXPECT_EQ(pools.results()[0].failures, 1u);
  EXPECT_EQ(pools.results()[1].served, 2u);
}

TEST(PoolClasses, PoolsWithoutMemoryAreTold) {
  EXPECT_TRUE(pool_classes(classes, 16, false).has_all_blocks());
  const std::array<class_request, 2> too_much{
      {{16, 16, 2}, {std::uint64_t{1} << 36, 16, std::uint64_t{1} << 20}}};
  EXPECT_FALSE(pool_classes(too_much, 16, false).has_all_blocks());
}

TEST(PoolClasses, AnAlignmentFindsAClassThatHasIt) {
  pool_classes pools(classes, 16, false);
  void* const block = pools.aligned(10, 64);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
  EXPECT_EQ(pools.usable_size(block), 128u);
  EXPECT_EQ(pools.aligned(10, 4096), nullptr);
  EXPECT_EQ(pools.allocate(129), nullptr);
  EXPECT_EQ(pools.unserved(), 2u);
}

}  // namespace
}  // namespace ashlar::replay
