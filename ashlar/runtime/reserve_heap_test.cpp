#include <tests/support/test_headers.hpp>

#include <ashlar/runtime/reserve_heap.hpp>

namespace {

using ashlar::runtime::reserve_heap;

TEST(ReserveHeap, ServesEverySizeAndKnowsItsBlocks) {
  static constinit reserve_heap reserve;
  int foreign = 0;
  EXPECT_FALSE(reserve.contains(&foreign));
  std::set<void*> blocks;
  for (const std::size_t size : {0u, 1u, 40u, 5'000u, 100'000u, 3'000'000u}) {
    for (const std::size_t alignment : {1u, 64u, 65'536u}) {
      void* const block = reserve.allocate(size, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
      EXPECT_TRUE(blocks.insert(block).second);
      EXPECT_TRUE(reserve.contains(block));
      EXPECT_GE(reserve.usable_size(block, "test"), size);
      std::memset(block, 1, size);
    }
  }
  EXPECT_FALSE(reserve.contains(&foreign));
  ashlar_stats stats{};
  reserve.add_to(stats);
  EXPECT_GE(stats.total.bytes_in_use, 9'000'000u);
  for (void* block : blocks) reserve.free(block, "free");
  stats = {};
  reserve.add_to(stats);
  EXPECT_EQ(stats.total.bytes_in_use, 0u);
  EXPECT_GT(reserve.trim(), 0u);
}

TEST(ReserveHeapDeathTest, FindsADoubleFree) {
  static constinit reserve_heap reserve;
  void* const block = reserve.allocate(300'000, 1);
  reserve.free(block, "free");
  EXPECT_DEATH(reserve.free(block, "free"), "no block is in use at the address");
}

}  // namespace
