// The domain is small, so it is tested whole, in both directions.
#include <gtest/gtest.h>

#include <ashlar/core/size_class.hpp>

namespace {

using namespace ashlar;

TEST(SizeClass, EverySizeGetsTheSmallestBlockThatHoldsIt) {
  for (std::size_t size = 0; size <= small_size_max; ++size) {
    const class_index c = class_of_size(size);
    ASSERT_GT(c, 0u);
    ASSERT_LT(c, class_count);
    ASSERT_GE(block_size_of(c), size);
    if (c > 1) {
      ASSERT_LT(block_size_of(static_cast<class_index>(c - 1)), size);
    }
  }
}

TEST(SizeClass, SlackIsBelowAnEighthAbove128Bytes) {
  for (std::size_t size = 129; size <= small_size_max; ++size)
    ASSERT_LT((block_size_of(class_of_size(size)) - size) * 8, size) << size;
}

TEST(SizeClass, EveryBlockSizeIsItsOwnClass) {
  for (std::size_t c = 1; c < class_count; ++c) {
    const auto index = static_cast<class_index>(c);
    EXPECT_EQ(class_of_size(block_size_of(index)), index);
    EXPECT_EQ(block_size_of(index) % block_granule, 0u);
  }
  EXPECT_EQ(block_size_of(class_count - 1), small_size_max);
}

TEST(SizeClass, AlignedClassesAreMultiplesOfTheAlignment) {
  for (std::size_t alignment = 1; alignment <= small_size_max; alignment *= 2) {
    for (std::size_t size = 0; size <= small_size_max; size += 7) {
      const class_index c = class_of_aligned_size(size, alignment);
      ASSERT_GT(c, 0u);
      ASSERT_GE(block_size_of(c), size);
      if (alignment > block_granule) {
        ASSERT_EQ(block_size_of(c) % alignment, 0u);
      }
    }
  }
  EXPECT_EQ(class_of_aligned_size(16, small_size_max * 2), 0u);
}

}  // namespace
