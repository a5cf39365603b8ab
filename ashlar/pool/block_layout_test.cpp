#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/pool/block_layout.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

constexpr block_upkeep every_upkeep[] = {{true, false, 0, 0, 0},  {true, false, 1, 0, 1},
                                         {true, false, 4, 0, 1},  {true, true, 2, 0, 1},
                                         {true, true, 4, 0, 1},   {false, false, 4, 0, 0},
                                         {false, false, 4, 1, 0}, {false, false, 2, 1, 0}};

TEST(BlockLayout, EverySmallShapeKeepsItsLaws) {
  for (const block_upkeep& upkeep : every_upkeep) {
    for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
      for (std::size_t size = 0; size <= 300; ++size) {
        const slot_shape s = shape_of({size, alignment}, upkeep);
        ASSERT_EQ(s.block_size, size == 0 ? 1 : size);
        ASSERT_GE(s.stride, s.block_size);
        ASSERT_GE(s.alignment, alignment);
        ASSERT_EQ(s.stride % s.alignment, 0u);
        ASSERT_TRUE(is_power_of_two(s.alignment));
        if (upkeep.whole_words) {
          ASSERT_EQ(s.stride % alignof(void*), 0u);
          ASSERT_GE(s.stride, sizeof(void*));
        }
        const std::size_t canary = upkeep.guarded ? canary_bytes : 0;
        ASSERT_GE(s.stride, s.block_size + canary);
        ASSERT_LT(s.stride - s.block_size, canary + s.alignment + sizeof(void*));
      }
    }
  }
}

TEST(BlockLayout, CapacityIsTheLargestCountThatFits) {
  for (const block_upkeep& upkeep : every_upkeep) {
    for (std::size_t size : {1u, 8u, 24u, 100u}) {
      const slot_shape s = shape_of({size, 8}, upkeep);
      for (std::size_t bytes = 0; bytes < 2000; ++bytes) {
        const std::size_t n = blocks_in(s, upkeep, bytes);
        ASSERT_LE(run_bytes(s, upkeep, n), bytes);
        ASSERT_GT(run_bytes(s, upkeep, n + 1), bytes);
        const std::size_t first = blocks_offset(s, upkeep, n);
        ASSERT_EQ(first % s.alignment, 0u);
        ASSERT_GE(first, n == 0 ? 0 : upkeep.side_bytes(n));
        ASSERT_EQ(first + n * s.stride, run_bytes(s, upkeep, n));
      }
    }
  }
}

TEST(BlockLayout, HugeSizesAndCountsNeverWrap) {
  for (const block_upkeep& upkeep : every_upkeep) {
    for (std::size_t alignment : {std::size_t{1}, std::size_t{16}, SIZE_MAX / 2 + 1}) {
      for (std::size_t less = 0; less < 64; ++less) {
        const slot_shape s = shape_of({SIZE_MAX - less, alignment}, upkeep);
        if (s.stride != 0) {
          EXPECT_GE(s.stride, SIZE_MAX - less);
          EXPECT_EQ(run_bytes(s, upkeep, 2), SIZE_MAX);
        } else {
          EXPECT_EQ(run_bytes(s, upkeep, 1), SIZE_MAX);
        }
        EXPECT_EQ(blocks_in(s, upkeep, 1 << 20), 0u);
      }
    }
    const slot_shape s = shape_of({64, 8}, upkeep);
    for (std::size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 32}) {
      EXPECT_EQ(run_bytes(s, upkeep, count), SIZE_MAX);
    }
  }
}

}  // namespace
