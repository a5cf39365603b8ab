// What prefault and seal promise, on an address space that counts calls and refuses them.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

namespace {

using namespace ashlar;
using namespace test;
using cache = test_heap::cache;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Allocates blocks of every kind up to `bytes`, written whole, frees half of them, again and
/// again, and then all. Returns: how many requests were refused.
std::size_t use(test_heap& h, cache& own, std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<void*> live;
  std::size_t refused = 0;
  for (std::size_t round = 0, in_use = 0; round < 10; ++round, in_use /= 2) {
    while (in_use + 300'000 < bytes) {
      const std::size_t size = 1 + random() % (random() % 50 == 0 ? 300'000 : 3'000);
      void* const fresh = allocate(h, own, size);
      refused += fresh == nullptr ? 1u : 0u;
      if (fresh != nullptr) live.push_back(std::memset(fresh, 0x5a, size));
      in_use += size;
    }
    std::shuffle(live.begin(), live.end(), random);
    for (std::size_t left = live.size() / 2; live.size() != left; live.pop_back())
      deallocate(h, own, live.back());
  }
  for (void* block : live) deallocate(h, own, block);
  return refused;
}

TEST(Prefault, AfterItASealedHeapCallsTheSpaceForNothing) {
  auto [h, own] = heap_with_cache();
  ASSERT_TRUE(h->prefault(32 * mebibyte, 2, own));
  h->seal(true);
  const std::uint64_t before = h->space().calls();
  const std::uint64_t tables = stats_of(*h, own).total.metadata_bytes;
  EXPECT_EQ(use(*h, *own, 16 * mebibyte, 1), 0u);
  // Caches that were made beforehand serve new owners, and stay when these end.
  cache* second = h->attach();
  cache* third = h->attach();
  ASSERT_NE(second, nullptr);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(h->attach(), nullptr) << "a fourth would need memory";
  EXPECT_EQ(use(*h, *second, 8 * mebibyte, 2), 0u);
  h->detach(second);
  h->detach(third);
  EXPECT_NE(h->attach(), nullptr);
  space_call never[] = {space_call::purge, space_call::renew, space_call::move};
  for (const space_call kind : never) EXPECT_EQ(h->space().calls(kind), 0u);
  EXPECT_EQ(h->trim(), 0u);
  EXPECT_EQ(h->space().calls(), before);
  EXPECT_EQ(stats_of(*h, own).total.metadata_bytes, tables) << "a stash or table was not there";
}

TEST(Prefault, WhatIsThereIsAllThereIsUntilUnsealed) {
  auto [h, own] = heap_with_cache();
  ASSERT_TRUE(h->prefault(4 * mebibyte, 0, own));
  h->seal(true);
  std::vector<void*> blocks;
  while (void* block = allocate(*h, *own, 1000)) blocks.push_back(block);
  EXPECT_GT(blocks.size() * 1008, 4 * mebibyte / 10 * 9);
  EXPECT_EQ(allocate(*h, *own, mebibyte), nullptr);
  for (void* block : blocks) deallocate(*h, *own, block);
  void* large = allocate(*h, *own, 4 * mebibyte);
  EXPECT_NE(large, nullptr) << "the same memory, in one piece";
  const std::uint64_t before = h->space().calls();
  EXPECT_EQ(h->move_large(large, 8 * mebibyte), nullptr);
  EXPECT_EQ(h->resize_in_place(large, 8 * mebibyte, "realloc"), 0u) << "behind it is fresh ground";
  EXPECT_EQ(h->space().calls(), before);
  h->seal(false);
  void* more = allocate(*h, *own, 8 * mebibyte);
  EXPECT_NE(more, nullptr);
  deallocate(*h, *own, more);
  deallocate(*h, *own, large);
}

TEST(Prefault, IsKeptHoweverLongItIsFree) {
  auto [h, own] = heap_with_cache();
  h->set_purge_policy({.delay_ms = 10, .keep_bytes = 0});
  ASSERT_TRUE(h->prefault(4 * mebibyte, 0, own));
  void* large = allocate(*h, *own, 16 * mebibyte);
  deallocate(*h, *own, large);
  h->space().set_clock(1'000'000);
  deallocate(*h, *own, allocate(*h, *own, 200'000));  // somebody looks
  EXPECT_GE(stats_of(*h, own).total.committed_bytes, 4 * mebibyte);
  EXPECT_LT(stats_of(*h, own).total.committed_bytes, 21 * mebibyte);
}

TEST(Prefault, ABlockThatWasMovedBeforeIsFreedSealed) {
  auto [h, own] = heap_with_cache();
  void* block = allocate(*h, *own, 4 * mebibyte);
  void* wall = allocate(*h, *own, mebibyte);  // so that it cannot grow where it stands
  void* moved = h->move_large(block, 6 * mebibyte);
  if (moved == nullptr) GTEST_SKIP() << "this system does not move pages";
  h->seal(true);
  const std::uint64_t before = h->space().calls();
  deallocate(*h, *own, moved);
  void* again = allocate(*h, *own, 6 * mebibyte);
  EXPECT_EQ(again, moved) << "not lost";
  EXPECT_EQ(h->space().calls(), before);
  h->seal(false);
  deallocate(*h, *own, again);
  deallocate(*h, *own, wall);
}

TEST(Prefault, CostsLittleBesideItsBytes) {
  for (const std::size_t bytes : {mebibyte, 16 * mebibyte, 256 * mebibyte}) {
    auto [h, own] = heap_with_cache();
    ASSERT_TRUE(h->prefault(bytes, 0, own));
    EXPECT_LE(stats_of(*h, own).total.metadata_bytes, bytes / 100 * 16 + 12 * mebibyte) << bytes;
  }
}

TEST(Prefault, EveryCallMayFail) {
  for (std::uint64_t n = 1;; n += support::step(7u)) {
    const auto h = std::make_unique<test_heap>();
    cache* const own = h->attach();
    ASSERT_NE(own, nullptr);
    h->space().fail_nth(n);
    const std::uint64_t before = h->space().calls();
    const bool done = h->prefault(8 * mebibyte, 3, own);
    const bool failed = h->space().calls() - before >= n;
    h->space().fail_nth(0);
    h->audit();
    EXPECT_EQ(use(*h, *own, 4 * mebibyte, n), 0u);
    h->audit();
    if (cache* another = h->attach(); another != nullptr) h->detach(another);
    EXPECT_TRUE(h->prefault(8 * mebibyte, 3, own)) << "a later one may succeed";
    h->seal(true);
    cache* others[] = {h->attach(), h->attach(), h->attach()};
    for (cache* other : others) {
      ASSERT_NE(other, nullptr) << "of three that were asked for, whatever failed before; call "
                                << n;
      h->detach(other);
    }
    h->seal(false);
    h->release_all();
    EXPECT_EQ(h->space().live_reservations(), 0u) << "call " << n << " left something to nobody";
    if (!failed) {
      EXPECT_TRUE(done);
      break;
    }
  }
}

TEST(Prefault, MoreThanTheBudgetIsRefused) {
  const auto h = make_heap();
  h->set_bounds(heap_bounds::of_budget(8 * mebibyte));
  cache* own = h->attach();
  EXPECT_FALSE(h->prefault(9 * mebibyte, 0, own));
  EXPECT_FALSE(h->prefault(SIZE_MAX, 0, own));
  EXPECT_TRUE(h->prefault(8 * mebibyte, 0, own));
  EXPECT_TRUE(h->prefault(8 * mebibyte, 0, own)) << "the same run does";
}

}  // namespace
