// Blocks of no bytes: distinct, aligned, bounded, and at addresses that cannot be accessed.
#include <array>
#include <cstddef>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/check/zero_blocks.hpp>
#include <ashlar/core/bits.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

std::unique_ptr<zero_blocks> some() {
  return std::make_unique<zero_blocks>();
}

TEST(ZeroBlocks, AreDistinctAndNotAccessible) {
  const auto blocks = some();
  EXPECT_FALSE(blocks->contains(nullptr));
  std::set<void*> seen;
  for (int i = 0; i < 1000; ++i) {
    void* const block = blocks->allocate(1, block_family::c);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(blocks->contains(block));
    EXPECT_EQ(blocks->family_of(block), block_family::c);
    EXPECT_TRUE(is_aligned(block, block_granule));
    EXPECT_TRUE(seen.insert(block).second);
  }
  auto* const first = static_cast<volatile char*>(*seen.begin());
  EXPECT_DEATH(*first = 1, "");
  EXPECT_DEATH(static_cast<void>(*first), "");
}

TEST(ZeroBlocks, ASecondFreeAndAnInteriorAddressAreSeen) {
  const auto blocks = some();
  auto* const block = static_cast<char*>(blocks->allocate(1, block_family::cxx));
  EXPECT_EQ(blocks->family_of(block + 1), block_family::none);
  EXPECT_EQ(blocks->family_of(block + block_granule), block_family::none);
  EXPECT_EQ(blocks->family_of(block), block_family::cxx);
  EXPECT_TRUE(blocks->free(block));
  EXPECT_EQ(blocks->family_of(block), block_family::none);
  EXPECT_FALSE(blocks->free(block));
  // All others have their turn first.
  for (std::size_t i = 1; i < zero_blocks::blocks_max; ++i) {
    void* const other = blocks->allocate(1, block_family::c);
    ASSERT_NE(other, block);
    ASSERT_TRUE(blocks->free(other));
  }
  EXPECT_EQ(blocks->allocate(1, block_family::c), block);
}

TEST(ZeroBlocks, AreAligned) {
  const auto blocks = some();
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 16; alignment *= 2)
    for (int i = 0; i < 10; ++i) {
      void* const block = blocks->allocate(alignment, block_family::c);
      ASSERT_NE(block, nullptr) << alignment;
      EXPECT_TRUE(is_aligned(block, alignment)) << alignment;
    }
  EXPECT_EQ(blocks->allocate(std::size_t{1} << 30, block_family::c), nullptr);
}

TEST(ZeroBlocks, AreBounded) {
  const auto blocks = some();
  std::size_t live = 0;
  while (blocks->allocate(1, block_family::c) != nullptr) ++live;
  EXPECT_EQ(live, zero_blocks::blocks_max);
}

TEST(ZeroBlocks, ThreadsGetDifferentOnes) {
  const auto blocks = some();
  std::array<std::vector<void*>, 4> taken;
  std::vector<std::thread> threads;
  for (auto& own : taken)
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        void* const block = blocks->allocate(1, block_family::c);
        if (i % 2 == 0)
          own.push_back(block);
        else
          EXPECT_TRUE(blocks->free(block));
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::set<void*> all;
  for (const auto& own : taken)
    for (void* const block : own) EXPECT_TRUE(block != nullptr && all.insert(block).second);
}

}  // namespace
