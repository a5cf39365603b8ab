// When a heap takes more memory, and when it gives back what nobody needs.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

namespace {

using namespace ashlar;
using namespace test;
using cache = test_heap::cache;

// ---- what rests does not make the heap grow -----------------------------------------------------

/// Blocks of `size`, of which every 256th stays in use until the others are gone: those free last
/// are few, and lie in all slabs.
void leave_a_block_in_each_slab(test_heap& h, cache& own, std::size_t size, std::size_t bytes) {
  std::vector<void*> blocks, last;
  for (std::size_t i = 0; i < bytes / size; ++i)
    (i % 256 == 0 ? last : blocks).push_back(allocate(h, own, size));
  for (void* block : blocks) deallocate(h, own, block);
  for (void* block : last) deallocate(h, own, block);
}

TEST(HeapGrowth, FewRestingBlocksHoldNoSlabsBack) {
  auto [h, own] = heap_with_cache();
  h->set_purge_policy({.delay_ms = -1, .keep_bytes = 0});
  constexpr std::size_t bytes = 8 << 20;
  std::vector<void*> blocks;
  for (const std::size_t size : {64u, 96u, 128u, 192u, 256u}) {
    leave_a_block_in_each_slab(*h, *own, size, bytes);
    // What rests in the cache and the stash is a thousandth of the memory, but a block of every
    // slab.
    const std::uint64_t before = stats_of(*h, own).total.peak_committed_bytes;
    EXPECT_LE(before, bytes + bytes / 4) << size;
  }
}

/// A heap that the system gives nothing more, full of blocks of `size`.
struct full_heap {
  explicit full_heap(std::size_t block_size) : size(block_size) {
    h->set_purge_policy({.delay_ms = -1, .keep_bytes = 0});
    for (std::size_t bytes = 0; bytes < 8 << 20; bytes += size)
      blocks.push_back(allocate(*h, *own, size));
    h->space().fail_always(space_call::commit, true);
    while (void* more = allocate(*h, *own, size)) blocks.push_back(more);
  }
  void give_back(std::size_t count) {
    for (; count != 0; --count) {
      deallocate(*h, *own, blocks.back());
      blocks.pop_back();
    }
  }
  bool serves_large(std::size_t bytes) {
    void* large = h->allocate_large(bytes, 1, false, own).address;
    if (large != nullptr) deallocate(*h, *own, large);
    return large != nullptr;
  }

  std::size_t size;
  std::unique_ptr<test_heap> h = std::make_unique<test_heap>();
  cache* own = h->attach();
  std::vector<void*> blocks;
};

TEST(HeapGrowth, TheCallersCacheServesAnyRequestBeforeARefusal) {
  full_heap f(128 * 1024);
  ASSERT_FALSE(f.serves_large(128 * 1024));
  f.give_back(2);
  EXPECT_TRUE(f.serves_large(128 * 1024));
  f.h->audit();
}

TEST(HeapGrowth, TheStashesServeAnyRequestBeforeARefusal) {
  full_heap f(1024);
  for (int round = 0; round < 5; ++round) {
    f.give_back(3'900);
    EXPECT_TRUE(f.serves_large(1 << 20)) << "round " << round;
    for (int i = 0; i < 3'900; ++i) f.blocks.push_back(allocate(*f.h, *f.own, f.size));
    EXPECT_NE(f.blocks.back(), nullptr);
  }
  f.h->audit();
}

// ---- what nobody needs goes back, by and by ----------------------------------------------------
// How often misses look: reclaimer_test.cpp. Delays of 0 and below: page_heap_giving_back_test.cpp.

constexpr std::uint64_t delay = 1000;

class HeapMaintenance : public testing::Test {
 protected:
  HeapMaintenance() { h_->set_purge_policy({.delay_ms = delay, .keep_bytes = 0}); }

  /// Misses that change nothing: every miss looks whether it is time to give back, and does a part
  /// of it.
  void miss() {
    for (int i = 0; i < 60; ++i) deallocate(*h_, *own_, large_of(*h_, 40'000));
  }
  void take(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) blocks_.push_back(allocate(*h_, *own_, 64));
  }
  /// Effects: all that was taken is stashed.
  void give_all() {
    for (void* block : blocks_) deallocate(*h_, *own_, block);
    blocks_.clear();
    h_->flush(*own_);
  }
  std::uint64_t slabs() { return stats_of(*h_, own_).classes[3].slabs; }
  ashlar_total_stats total() { return stats_of(*h_, own_).total; }

  const std::unique_ptr<test_heap> h_ = std::make_unique<test_heap>();
  cache* const own_ = h_->attach();
  std::vector<void*> blocks_;
};

TEST_F(HeapMaintenance, UnneededStashesAndPagesLeaveAfterTheDelay) {
  void* const room = large_of(*h_, 40'000);
  take(16'000);
  deallocate(*h_, *own_, room);  // pages for the misses: the heap's growth would settle the stash
  give_all();
  const std::uint64_t slabs_before = slabs();
  ASSERT_GE(slabs_before, 15u);
  ASSERT_GE(total().committed_bytes, 16'000u * 64);
  std::uint64_t slabs_left = 0, pages_left = 0;
  for (std::uint64_t t = 0; t <= 4 * delay; t += 10) {
    h_->space().set_clock(t);
    miss();
    if (slabs_left == 0 && slabs() == 0) slabs_left = t;
    if (pages_left == 0 && total().given_back_bytes >= slabs_before * 64 * 1024) pages_left = t;
  }
  EXPECT_GT(slabs_left, delay / 2 - 1) << "the stash was not given time";
  EXPECT_LE(slabs_left, delay + 20);
  EXPECT_GE(pages_left, slabs_left + delay) << "free pages were not given time";
  EXPECT_LE(pages_left, 5 * delay / 2 + 40);
  EXPECT_LE(total().committed_bytes, 128u * 1024) << "but for the misses' own";
  h_->audit();
}

TEST_F(HeapMaintenance, WhatIsNeededAgainAndAgainStays) {
  take(10'000);
  give_all();
  const std::uint64_t slabs_before = slabs();
  for (std::uint64_t t = 0; t <= 10 * delay; t += 100) {
    h_->space().set_clock(t);
    take(10'000);
    give_all();
    ASSERT_EQ(slabs(), slabs_before) << t << " ms";
  }
  EXPECT_EQ(total().given_back_bytes, 0u);
}

TEST_F(HeapMaintenance, TheHeapDoesNotGrowWhileMuchIsStashed) {
  h_->set_purge_policy({.delay_ms = -1, .keep_bytes = 0});
  take(16'000);
  give_all();
  ASSERT_GE(slabs(), 15u) << "the stash must hold them";
  const std::uint64_t committed = total().committed_bytes;
  // Another class, then a large block, in the memory of the first.
  for (int i = 0; i < 400; ++i) ASSERT_NE(allocate(*h_, *own_, 1024), nullptr);
  miss();  // a thread that only allocates misses seldom: what is left to sort
  ASSERT_NE(large_of(*h_, 300'000), nullptr);
  // A miss sorts back a part of what is stashed, so the first pages that are needed may be new
  // ones.
  EXPECT_LE(total().committed_bytes, committed + 2 * detail::slab_bytes_min);
  miss();
  EXPECT_LT(slabs(), 2u);
  h_->audit();
}

}  // namespace
