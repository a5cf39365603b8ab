#include "tools/profile/size_grid.hpp"

#include <array>

#include <gtest/gtest.h>

#include <ashlar/heap/class_table.hpp>

namespace ashlar::profiling {
namespace {

TEST(PoolGrid, PlacesAndSizesAreEachOthersInverse) {
  std::uint64_t before = 0;
  for (std::uint32_t step = 0; step < pool_grid::count; ++step) {
    const std::uint64_t size = pool_grid::size_of(step);
    ASSERT_GT(size, before);
    // All that is above the size before comes here; the ends stand for what is between them, and so do some within.
    for (const std::uint64_t bytes : {before + 1, before + (size - before + 1) / 2, size}) {
      ASSERT_EQ(pool_grid::step_of(bytes), step) << bytes;
      ASSERT_EQ(pool_grid::round_up(bytes), size) << bytes;
    }
    before = size;
  }
  EXPECT_EQ(before, pool_grid::largest_size);
  EXPECT_EQ(pool_grid::step_of(0), 0u);
  EXPECT_EQ(pool_grid::round_up(0), 8u);
}

TEST(PoolGrid, EachSizeUpToAMebibyteIsRoundedToTheNextOne) {
  std::uint32_t step = 0;
  for (std::uint64_t bytes = 1; bytes <= 1 << 20; ++bytes) {
    if (bytes > pool_grid::size_of(step)) ++step;
    ASSERT_EQ(pool_grid::step_of(bytes), step) << bytes;
    ASSERT_EQ(pool_grid::round_up(bytes), pool_grid::size_of(step)) << bytes;
  }
}

TEST(PoolGrid, RoundingAddsAtMostASixteenthUpTo64KiBAndAnEighthUpTo64MiB) {
  for (std::uint32_t step = 1; pool_grid::size_of(step) <= 64 << 20; ++step) {
    const std::uint64_t added = pool_grid::size_of(step) - pool_grid::size_of(step - 1) - 1;
    const std::uint64_t least = pool_grid::size_of(step - 1) + 1;
    if (least > 512 && least <= 64 << 10) {
      EXPECT_LE(16 * added, least) << least;
    } else if (least > 512) {
      EXPECT_LE(8 * added, least) << least;
    } else {
      EXPECT_LT(added, 8u);
    }
  }
}

// The law at the head of size_grid.hpp: of each gap and each alignment, the first multiple in the gap says it for all.
TEST(PoolGrid, AMultipleOfAnAlignmentStaysOne) {
  for (std::uint64_t alignment = 1; alignment <= pool_grid::largest_alignment; alignment *= 2) {
    std::uint64_t before = 0;
    for (std::uint32_t step = 0; step < pool_grid::count; ++step) {
      const std::uint64_t size = pool_grid::size_of(step);
      const bool has_a_multiple = align_up(before + 1, alignment) <= size;
      ASSERT_TRUE(!has_a_multiple || size % alignment == 0)
          << alignment << " in " << before + 1 << ".." << size;
      before = size;
    }
  }
}

TEST(PoolGrid, ANeedIsOfTheSizeRoundedUpToItsAlignment) {
  EXPECT_EQ(pool_grid::need_of(0, 0), 8u);
  EXPECT_EQ(pool_grid::need_of(0, 64), 64u);
  EXPECT_EQ(pool_grid::need_of(65, 64), 128u);
  EXPECT_EQ(pool_grid::need_of(520, 0), 544u);
  EXPECT_EQ(pool_grid::need_of(513, 1024), 1024u);
  EXPECT_EQ(pool_grid::need_of(1, 1 << 20), 1u << 20);
  EXPECT_TRUE(pool_grid::serves(pool_grid::largest_size, pool_grid::largest_alignment));
  EXPECT_FALSE(pool_grid::serves(pool_grid::largest_size + 1, 0));
  EXPECT_FALSE(pool_grid::serves(1, 2 * pool_grid::largest_alignment));
  EXPECT_EQ(pool_grid::need_of(pool_grid::largest_size, pool_grid::largest_alignment),
            pool_grid::largest_size);
}

// Which sizes a heap's class may have is the heap's to say.
TEST(HeapGrid, HasEachBlockSizeThatAClassCanHaveAndNoOtherUpToTheLargest) {
  std::uint32_t step = 0;
  for (std::uint32_t size = 1; size < small_size_max; ++size) {
    const std::array<std::uint32_t, 2> sizes = {size, std::uint32_t{small_size_max}};
    std::size_t at = 0;
    const bool is_possible = ashlar::detail::what_is_wrong_with(sizes, at) == nullptr;
    ASSERT_EQ(heap_grid::step_of(size), step) << size;
    ASSERT_EQ(heap_grid::size_of(step) == size, is_possible) << size;
    step += is_possible ? 1 : 0;
  }
  EXPECT_EQ(heap_grid::size_of(step), small_size_max);
  EXPECT_EQ(heap_grid::step_of(0), 0u);
}

TEST(HeapGrid, AboveTheLargestClassThePoolGridGoesOn) {
  std::uint32_t pool = pool_grid::step_of(small_size_max);
  for (std::uint32_t step = heap_grid::step_of(small_size_max); step < heap_grid::count; ++step) {
    const std::uint64_t size = pool_grid::size_of(pool++);
    ASSERT_EQ(heap_grid::size_of(step), size);
    ASSERT_EQ(heap_grid::step_of(size), step);
    const bool is_last = step + 1 == heap_grid::count;
    ASSERT_TRUE(is_last || heap_grid::step_of(size + 1) == step + 1);
  }
  EXPECT_EQ(pool, pool_grid::count);
}

}  // namespace
}  // namespace ashlar::profiling
