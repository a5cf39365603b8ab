#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/pool/packed_pool.hpp>

namespace {

using ashlar::block_layout;
using ashlar::packed_pool;

TEST(PackedPool, every_size_and_alignment_fills_the_storage_and_nothing_else) {
  alignas(64) static std::array<std::byte, 1024> storage;
  for (std::size_t size = 0; size <= 80; ++size) {
    for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
      for (const std::size_t offset : {0u, 1u, 8u}) {
        packed_pool<> pool(block_layout{size, alignment}, std::span(storage).subspan(offset, 900));
        const std::size_t lost = ashlar::align_up(offset, alignment) - offset;
        ASSERT_EQ(pool.capacity(), (900 - lost) / pool.block_size());
        ASSERT_GE(pool.block_size(), size);
        const std::byte* end = storage.data() + offset;
        for (std::size_t i = 0; i < pool.capacity(); ++i) {
          auto* const p = static_cast<std::byte*>(pool.try_allocate());
          ASSERT_TRUE(p >= end && ashlar::is_aligned(p, alignment) && pool.owns(p));
          end = p + pool.block_size();
        }
        ASSERT_LE(end, storage.data() + offset + 900);
        ASSERT_EQ(pool.allocate(), nullptr);
      }
    }
  }
}

TEST(PackedPool, the_last_freed_is_the_next) {
  alignas(4) static std::array<std::byte, 12 * 8> storage;
  packed_pool<> pool(block_layout{12, 4}, storage);
  std::array<void*, 8> blocks{};
  for (void*& p : blocks) p = pool.allocate();
  pool.deallocate(nullptr);
  for (const std::size_t i : {3u, 0u, 7u}) pool.deallocate(blocks[i]);
  for (const std::size_t i : {7u, 0u, 3u}) EXPECT_EQ(pool.allocate(), blocks[i]);
  EXPECT_EQ(pool.allocate(), nullptr);
  const ashlar::pool_stats stats = pool.stats();
  EXPECT_EQ(stats.blocks_in_use, 8u);
  EXPECT_EQ(stats.peak_in_use, 8u);
  EXPECT_EQ(stats.allocations, 11u);
  EXPECT_EQ(stats.frees, 3u);
}

TEST(PackedPool, what_has_no_room_has_no_block) {
  static std::array<std::byte, 64> storage;
  for (const block_layout block : {block_layout{SIZE_MAX, 1}, block_layout{SIZE_MAX - 3, 16},
                                   block_layout{65, 1}, block_layout{1, SIZE_MAX / 2 + 1}}) {
    packed_pool<> pool(block, storage);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.allocate(), nullptr);
    EXPECT_FALSE(pool.owns(storage.data()));
  }
  packed_pool<> none(block_layout{8, 8}, {});
  EXPECT_EQ(none.try_allocate(), nullptr);
}

TEST(PackedPoolDeathTest, misuse_is_reported) {
  alignas(4) static std::array<std::byte, 12 * 4> storage;
  packed_pool<> pool(block_layout{12, 4}, storage);
  auto* const a = static_cast<std::byte*>(pool.allocate());
  auto* const b = static_cast<std::byte*>(pool.allocate());
  EXPECT_DEATH(pool.deallocate(a + 4), "inside a block");
  EXPECT_DEATH(pool.deallocate(b + 12), "no block is in use");
  EXPECT_DEATH(pool.deallocate(a + sizeof storage), "not allocated here");
  pool.deallocate(a);
  EXPECT_DEATH(pool.deallocate(a), "double free") << "while b is in use";
  pool.deallocate(b);
  EXPECT_DEATH(pool.deallocate(a), "double free") << "nothing is in use";
  EXPECT_DEATH(packed_pool<>(block_layout{8, 3}, storage), "argument");
}

}  // namespace
