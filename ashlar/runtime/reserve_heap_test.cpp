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

TEST(ReserveHeap, NotesBlocksAndCachesForLater) {
  static constinit reserve_heap reserve;
  std::vector<int> things(1'000);
  auto* const cache = reinterpret_cast<ashlar::runtime::process_heap::cache*>(&things);
  {
    const auto note_half = [&](std::size_t begin) {
      for (std::size_t i = begin; i < begin + 500; ++i) reserve.free_later(&things[i], "test");
    };
    std::jthread first(note_half, 0), second(note_half, 500);
  }
  reserve.detach_later(cache);
  std::set<void*> noted;
  unsigned caches = 0;
  reserve.for_each_noted(
      [&](void* block, const char* call) {
        EXPECT_STREQ(call, "test");
        EXPECT_TRUE(noted.insert(block).second);
      },
      [&](ashlar::runtime::process_heap::cache* c) {
        EXPECT_EQ(c, cache);
        ++caches;
      });
  EXPECT_EQ(noted.size(), 1'000u);
  EXPECT_EQ(caches, 1u);
  ashlar_stats stats{};
  reserve.add_to(stats);
  EXPECT_EQ(stats.total.bytes_in_use, 0u);  // the notes are gone
}

TEST(ReserveHeapDeathTest, FindsADoubleFree) {
  static constinit reserve_heap reserve;
  void* const block = reserve.allocate(300'000, 1);
  reserve.free(block, "free");
  EXPECT_DEATH(reserve.free(block, "free"), "no block is in use at the address");
}

}  // namespace
