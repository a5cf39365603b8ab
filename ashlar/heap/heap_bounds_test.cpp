// A heap with bounds on a steered address space: the budget in every path that takes pages, classes
// that no cache keeps, and giving everything back.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

namespace {

using namespace ashlar;
using namespace test;
using bounded_heap = test::test_heap;

auto make(std::size_t budget) {
  auto h = make_heap();
  h->set_bounds(heap_bounds::of_budget(budget));
  return h;
}

ashlar_total_stats totals(bounded_heap& h) {
  ashlar_stats s;
  h.collect(s, nullptr);
  return s.total;
}

TEST(HeapBounds, WithoutABudgetAreTheDefaults) {
  const heap_bounds all = heap_bounds::of_budget(SIZE_MAX), usual;
  EXPECT_EQ(all.caches_bytes, usual.caches_bytes);
  EXPECT_EQ(all.cache_bytes_min, usual.cache_bytes_min);
  EXPECT_EQ(all.stack_bytes_first, usual.stack_bytes_first);
  EXPECT_EQ(all.cached_block_max, usual.cached_block_max);
  EXPECT_EQ(all.stash_bytes, usual.stash_bytes);
  EXPECT_EQ(all.settle_bytes_min, usual.settle_bytes_min);
  for (std::size_t budget = 1; budget != 0; budget *= 2) {
    const heap_bounds b = heap_bounds::of_budget(budget);
    EXPECT_EQ(b.budget_bytes, budget);
    EXPECT_LE(b.caches_total(1), budget / 8);
    EXPECT_LE(b.caches_total(64), budget / 8);
    EXPECT_LE(b.cached_block_max, budget / 1024);
    EXPECT_GE(b.stash_bytes, 4096u);
  }
}

/// Returns: slabs that stay when `count` blocks of `size` bytes are freed in the order of their
/// addresses.
std::uint64_t slabs_left_by(std::size_t count, std::size_t size) {
  const auto h = make_heap();
  auto* own = h->attach();
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = allocate(*h, *own, size);
  for (void* block : blocks) deallocate(*h, *own, block);
  h->audit();
  ashlar_stats s;
  h->collect(s, nullptr);
  return s.classes[bounded_heap::classes::class_for(size, 1) - 1].slabs;
}

// Blocks that rest keep their slabs.
TEST(HeapBounds, AStashHoldsTenThousandBlocksAndFewWithASlabEach) {
  EXPECT_GE(slabs_left_by(10'000, 1024), 10'000u * 1024 / (64 * 1024));
  const std::uint64_t lone = slabs_left_by(100, small_size_max);
  EXPECT_GE(lone, 8u) << "and what the cache holds";
  EXPECT_LE(lone, 8u + detail::most_capacity(small_size_max));
}

TEST(HeapBounds, CachesHoldSoMuchForEachProcessor) {
  const heap_bounds usual;
  EXPECT_EQ(usual.caches_total(1), usual.caches_bytes);
  EXPECT_EQ(usual.caches_total(64), 64 * usual.caches_bytes);
  for (std::size_t share = 1; share <= (256u << 20); share *= 2) {
    // Two blocks for each stack at least: they are never most of a share.
    EXPECT_LE(2 * heap_bounds::block_max_of_share(share), share / 4);
    EXPECT_LE(heap_bounds::stack_bytes_of_share(share), share / 32);
  }
}

TEST(HeapBounds, ClassesAboveTheBoundAreNeverCached) {
  const auto h = make(1 << 20);
  bounded_heap::cache* own = h->attach();
  ASSERT_NE(own, nullptr);
  for (const std::size_t size : {1024u, 1100u, 8000u, 32768u}) {
    const class_index c = detail::standard_classes.of_size(size);
    for (int i = 0; i < 3; ++i) {
      void* block = allocate(*h, *own, size);
      ASSERT_NE(block, nullptr);
      deallocate(*h, *own, block);
      EXPECT_EQ(own->count(c) != 0, size == 1024) << size;
    }
  }
  h->detach(own);
  EXPECT_EQ(totals(*h).bytes_in_use, 0u);
}

TEST(HeapBounds, ALimitMayChangeAtAnyTime) {
  const auto h = make(8 << 20);
  h->set_purge_policy({.delay_ms = -1, .keep_bytes = 0});
  bounded_heap::cache* own = h->attach();
  ASSERT_NE(own, nullptr);
  std::mt19937_64 random(7);
  std::vector<void*> live;
  std::uint64_t refused = 0, crossings = 0, above = 0, resized = 0;
  std::size_t limit = 8 << 20, soft = limit;
  for (int i = 0; i < 60'000; ++i) {
    if (i % 500 == 0) {
      limit = (1 + random() % 64) * 65536;
      soft = limit / 4 * 3;
      h->set_limit(limit, 75);
      EXPECT_EQ(h->supply().take_crossing(), h->supply().committed_bytes() >= soft)
          << "it may be above already";
      EXPECT_EQ(h->is_beyond_limit(limit + 1), true);
    }
    const std::size_t before = h->supply().committed_bytes();
    const std::size_t size = random() % 10 == 0 ? random() % 200'000 : random() % 3000;
    if (random() % 100 < (i / 1000 % 2 == 0 ? 65u : 40u)) {
      void* block = allocate(*h, *own, size);
      refused += block == nullptr ? 1u : 0u;
      if (block != nullptr) live.push_back(block);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      if (random() % 16 == 0 && h->resize_in_place(live.back(), size, "realloc") != 0) {
        ++resized;
      } else {
        deallocate(*h, *own, live.back());
        live.pop_back();
      }
    }
    const std::size_t after = h->supply().committed_bytes();
    ASSERT_LE(after, std::max(before, limit)) << "above the limit nothing grows";
    above += after > limit ? 1u : 0u;
    const bool crossed = h->supply().take_crossing();
    ASSERT_TRUE(crossed || before >= soft || after < soft);
    ASSERT_TRUE(!crossed || after >= soft || after < before || before >= soft);
    EXPECT_EQ(h->supply().bytes_above() != 0, after >= soft);
    crossings += crossed ? 1u : 0u;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(crossings, 10u);
  EXPECT_GT(resized, 0u);
  EXPECT_GT(above, 100u) << "or no limit was below what was in use";
  for (void* block : live) deallocate(*h, *own, block);
  h->detach(own);
}

// A slab whose pages are leaving is on no list meanwhile, and may have the only free block.
TEST(HeapBounds, AFreeBlockWhosePagesAreLeavingServesARequestAtTheLimit) {
  const class_index c = detail::standard_classes.of_size(24 * 1024);
  const auto h = make(1 << 20);
  std::vector<void*> blocks;
  while (void* const block = h->allocate_uncached(c)) blocks.push_back(block);
  h->deallocate_uncached(blocks[blocks.size() / 2], "free");
  void* served = nullptr;
  std::atomic<bool> has_come = false;
  std::thread other;
  h->space().before_next_purge([&] {
    other = std::thread([&] {
      served = h->allocate_uncached(c);
      has_come = true;
    });
    // It may wait for this look: then it comes when the pages have left.
    for (int ms = 0; ms != 100 && !has_come; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_GT(h->trim(), 0u);
  ASSERT_TRUE(other.joinable());
  other.join();
  EXPECT_NE(served, nullptr);
}

TEST(HeapBounds, ALargeBlockGrowsUpToTheBudgetInPlace) {
  const auto h = make(1 << 20);
  void* block = large_of(*h, 512 << 10);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(h->resize_in_place(block, 1 << 20, "realloc"), std::size_t{1} << 20);
  EXPECT_EQ(h->resize_in_place(block, (1 << 20) + 1, "realloc"), 0u);
  // The same where the neighbour is a clean run and not the untouched end.
  EXPECT_NE(h->resize_in_place(block, 256 << 10, "realloc"), 0u);
  h->trim();
  void* other = large_of(*h, 512 << 10);
  ASSERT_NE(other, nullptr);
  h->deallocate_uncached(other, "free");
  h->trim();
  EXPECT_EQ(h->resize_in_place(block, 2 << 20, "realloc"), 0u);
  EXPECT_NE(h->resize_in_place(block, 1 << 20, "realloc"), 0u);
  EXPECT_EQ(totals(*h).committed_bytes, 1u << 20);
}

}  // namespace
