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
  const auto h = std::make_unique<test_heap>();
  h->set_purge_policy({.delay_ms = -1, .keep_bytes = 0});
  cache* own = h->attach();
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
    bool zeroed = false;
    void* large = h->allocate_large(bytes, 1, zeroed, own);
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

constexpr std::uint64_t delay = 1000;

/// Misses that change nothing: every miss looks whether it is time to give back, and does a part of
/// it.
void miss(test_heap& h, cache& own, int times = 60) {
  for (; times != 0; --times) deallocate(h, own, large_of(h, 40'000));
}

TEST(HeapMaintenance, UnneededStashesAndPagesLeaveAfterTheDelay) {
  const auto h = std::make_unique<test_heap>();
  h->set_purge_policy({.delay_ms = delay, .keep_bytes = 0});
  cache* own = h->attach();
  void* const room = large_of(*h, 40'000);
  std::vector<void*> blocks;
  for (int i = 0; i < 16'000; ++i) blocks.push_back(allocate(*h, *own, 64));
  deallocate(*h, *own, room);  // pages for the misses: the heap's growth would settle the stash
  for (void* block : blocks) deallocate(*h, *own, block);
  h->flush(*own);
  const std::uint64_t slabs = stats_of(*h, own).classes[3].slabs;
  ASSERT_GE(slabs, 15u);
  const std::uint64_t held = stats_of(*h, own).total.committed_bytes;
  ASSERT_GE(held, 16'000u * 64);
  std::uint64_t slabs_left = 0, pages_left = 0;
  for (std::uint64_t t = 0; t <= 4 * delay; t += 10) {
    h->space().set_clock(t);
    miss(*h, *own);
    const ashlar_stats s = stats_of(*h, own);
    if (slabs_left == 0 && s.classes[3].slabs == 0) slabs_left = t;
    if (pages_left == 0 && s.total.given_back_bytes >= slabs * 64 * 1024) pages_left = t;
  }
  EXPECT_GT(slabs_left, delay / 2 - 1) << "the stash was not given time";
  EXPECT_LE(slabs_left, delay + 20);
  EXPECT_GE(pages_left, slabs_left + delay) << "free pages were not given time";
  EXPECT_LE(pages_left, 5 * delay / 2 + 40);
  EXPECT_LE(stats_of(*h, own).total.committed_bytes, 128u * 1024) << "but for the misses' own";
  h->audit();
}

TEST(HeapMaintenance, WhatIsNeededAgainAndAgainStays) {
  const auto h = std::make_unique<test_heap>();
  h->set_purge_policy({.delay_ms = delay, .keep_bytes = 0});
  cache* own = h->attach();
  std::vector<void*> blocks(10'000);
  for (void*& block : blocks) block = allocate(*h, *own, 64);
  for (void* block : blocks) deallocate(*h, *own, block);
  h->flush(*own);
  const std::uint64_t slabs = stats_of(*h, own).classes[3].slabs;
  for (std::uint64_t t = 0; t <= 10 * delay; t += 100) {
    h->space().set_clock(t);
    for (void*& block : blocks) block = allocate(*h, *own, 64);
    for (void* block : blocks) deallocate(*h, *own, block);
    h->flush(*own);
    ASSERT_EQ(stats_of(*h, own).classes[3].slabs, slabs) << t << " ms";
  }
  EXPECT_EQ(stats_of(*h, own).total.given_back_bytes, 0u);
}

TEST(HeapMaintenance, LooksAtMostEveryHalfDelay) {
  const auto h = std::make_unique<test_heap>();
  h->set_purge_policy({.delay_ms = delay, .keep_bytes = 0});
  cache* own = h->attach();
  void* large = large_of(*h, 256 * detail::page_size);
  void* apart = large_of(*h, 2 * detail::page_size);
  void* small = large_of(*h, 10 * detail::page_size);
  const auto look_at = [&](std::uint64_t t) {
    h->space().set_clock(t);
    void* block = large_of(*h, 2 * detail::page_size);
    deallocate(*h, *own, block);
    return stats_of(*h, own).total.given_back_bytes;
  };
  look_at(0);                   // looks; again at 501
  deallocate(*h, *own, large);  // dirty since 0
  EXPECT_EQ(look_at(501), 0u);  // looks; again at 1002
  deallocate(*h, *own, small);
  EXPECT_EQ(look_at(1000), 0u) << "old enough, but it is not time to look";
  EXPECT_EQ(look_at(1001), 0u);
  const std::uint64_t returned = look_at(1002);
  EXPECT_GE(returned, 256 * detail::page_size);
  EXPECT_LT(returned, 266 * detail::page_size) << "the other one is younger";
  EXPECT_EQ(look_at(1502), returned);
  EXPECT_GT(look_at(1503), returned);
  deallocate(*h, *own, apart);
}

TEST(HeapMaintenance, DelayZeroGivesBackWithinAMillisecond) {
  const auto h = std::make_unique<test_heap>();
  h->set_purge_policy({.delay_ms = 0, .keep_bytes = 0});
  cache* own = h->attach();
  for (std::uint64_t t = 5; t < 20; ++t) {
    h->space().set_clock(t);
    deallocate(*h, *own, large_of(*h, 1 << 20));
    EXPECT_EQ(stats_of(*h, own).total.given_back_bytes, (t - 4) << 20);
    EXPECT_EQ(stats_of(*h, own).total.committed_bytes, 0u);
  }
}

TEST(HeapMaintenance, DelayBelowZeroKeepsEverything) {
  const auto h = std::make_unique<test_heap>();
  h->set_purge_policy({.delay_ms = -1, .keep_bytes = 0});
  cache* own = h->attach();
  miss(*h, *own);  // as above
  std::vector<void*> blocks(5'000);
  for (void*& block : blocks) block = allocate(*h, *own, 64);
  for (void* block : blocks) deallocate(*h, *own, block);
  h->flush(*own);
  const std::uint64_t slabs = stats_of(*h, own).classes[3].slabs;
  for (std::uint64_t t = 0; t < 1'000'000; t += 100'000) {
    h->space().set_clock(t);
    miss(*h, *own);
  }
  EXPECT_EQ(stats_of(*h, own).classes[3].slabs, slabs);
  EXPECT_EQ(stats_of(*h, own).total.given_back_bytes, 0u);
}

TEST(HeapMaintenance, TheHeapDoesNotGrowWhileMuchIsStashed) {
  const auto h = std::make_unique<test_heap>();
  h->set_purge_policy({.delay_ms = -1, .keep_bytes = 0});
  cache* own = h->attach();
  std::vector<void*> blocks(16'000);
  for (void*& block : blocks) block = allocate(*h, *own, 64);
  for (void* block : blocks) deallocate(*h, *own, block);
  h->flush(*own);
  ASSERT_GE(stats_of(*h, own).classes[3].slabs, 15u) << "the stash must hold them";
  const std::uint64_t committed = stats_of(*h, own).total.committed_bytes;
  // Another class, then a large block, in the memory of the first.
  std::vector<void*> others;
  for (int i = 0; i < 400; ++i) others.push_back(allocate(*h, *own, 1024));
  ASSERT_NE(large_of(*h, 300'000), nullptr);
  // A miss sorts back a part of what is stashed, so the first pages that are needed may be new
  // ones.
  EXPECT_LE(stats_of(*h, own).total.committed_bytes, committed + 2 * detail::slab_bytes_min);
  miss(*h, *own);
  EXPECT_LT(stats_of(*h, own).classes[3].slabs, 2u);
  h->audit();
}

}  // namespace
