// A heap without memory: null, and memory again when there is some.
#include <memory>
#include <tests/support/test_heap.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/basic_heap.hpp>

namespace {

using namespace ashlar;
using test::allocate;
using test::deallocate;
using test::test_heap;
using cache = test_heap::cache;

TEST(HeapRefusals, NoMemoryIsNullAndLaterMemoryIsMemory) {
  const auto h = std::make_unique<test_heap>();
  h->space().fail_from(1);
  bool zeroed = false;
  EXPECT_EQ(h->attach(), nullptr);
  EXPECT_EQ(h->allocate_uncached(1), nullptr);
  EXPECT_EQ(h->allocate_large(100'000, 1, zeroed), nullptr);
  EXPECT_FALSE(h->count_exactly(nullptr));
  EXPECT_EQ(h->space().live_reservations(), 0u);
  h->audit();
  h->space().fail_nth(0);
  cache* own = h->attach();
  ASSERT_NE(own, nullptr);
  EXPECT_NE(allocate(*h, *own, 10), nullptr);
  h->audit();
}

TEST(HeapRefusals, AFullHeapServesAgainWhatIsFreed) {
  const auto h = std::make_unique<test_heap>();
  h->space().set_limit(32 << 20);  // one range of 8 MiB
  cache* own = h->attach();
  ASSERT_NE(allocate(*h, *own, 16), nullptr);
  h->space().set_reserve_max(h->space().live_bytes());
  for (const std::size_t size : {16u, 100u, 3000u, 32'768u, 70'000u, 16u}) {
    std::vector<void*> blocks;
    std::size_t bytes = 0;
    while (void* block = allocate(*h, *own, size)) {
      blocks.push_back(block);
      bytes += h->usable_size(block, "test");
    }
    EXPECT_GE(bytes, 7u << 20) << "blocks of " << size;
    for (void* block : blocks) deallocate(*h, *own, block);
    h->flush(*own);
    h->trim();
    h->audit();
  }
}

}  // namespace
