// When a page heap gives free pages back to the system, and how many.
#include <cstdint>
#include <tests/support/modelled_page_heap.hpp>
#include <tests/support/test_space.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/page_heap.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using test::space_call;
using test::test_space;
using modelled = modelled_page_heap;

/// Frees `count` runs of 16 pages, apart from each other, at the space's present time.
void free_apart(modelled& m, int count) {
  std::vector<run*> runs;
  for (int i = 0; i < count; ++i) {
    runs.push_back(m.new_large(16, 1));
    m.new_large(1, 1);
  }
  for (run* r : runs) m.drop(r);
}

TEST(PageHeap, GivesBackNothingBeforeTheDelayAndEverythingAfter) {
  sealable<test_space> space;
  space.set_clock(5'000);
  modelled m(space);
  m.heap().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  free_apart(m, 5);
  for (std::uint64_t t = 5'000; t < 6'000; t += 37) {
    space.set_clock(t);
    m.heap().purge_aged();
  }
  space.set_clock(5'999);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u);
  EXPECT_EQ(space.calls(space_call::purge), 0u);
  space.set_clock(6'000);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 5 * 16 * page_size);
  m.audit();
}

TEST(PageHeap, KeepsWhatIsYoungerThanTheDelay) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  run* a = m.new_large(16, 1);
  m.new_large(1, 1);
  run* b = m.new_large(24, 1);
  m.new_large(1, 1);
  m.drop(a);
  space.set_clock(900);
  m.drop(b);
  space.set_clock(1'300);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 16 * page_size);
  space.set_clock(2'400);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 40 * page_size);
}

TEST(PageHeap, AgesRightlyWhenTheClocksLowBitsWrap) {
  sealable<test_space> space;
  space.set_clock((std::uint64_t{1} << 32) - 500);
  modelled m(space);
  m.heap().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  free_apart(m, 2);
  space.set_clock((std::uint64_t{1} << 32) + 499);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u);
  space.set_clock((std::uint64_t{1} << 32) + 1'000);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 2 * 16 * page_size);
  // What became free after the wrap is young, though its low bits are less than the clock's.
  free_apart(m, 3);
  space.set_clock((std::uint64_t{1} << 32) + 1'999);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 2 * 16 * page_size);
  space.set_clock((std::uint64_t{1} << 32) + 2'000);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 5 * 16 * page_size);
}

TEST(PageHeap, KeepsTheBytesItWasToldToKeep) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = 100, .keep_bytes = 3 * 16 * page_size});
  free_apart(m, 10);
  space.set_clock(1'000'000);
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, 7 * 16 * page_size);
  EXPECT_EQ(m.heap().purge_all(), 3 * 16 * page_size) << "to keep is for ageing only";
}

TEST(PageHeap, DelayZeroGivesBackWheneverItLooks) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = 0, .keep_bytes = 0});
  run* slab = m.new_slab(7);
  const std::size_t bytes = slab->pages * page_size;
  m.drop(slab);
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u) << "who gives back is told to";
  m.heap().purge_aged();
  EXPECT_EQ(m.heap().stats().given_back_bytes, bytes);
  EXPECT_EQ(m.heap().stats().committed_bytes, 0u);
  run* again = m.new_slab(7);
  EXPECT_TRUE(again->zero);
}

TEST(PageHeap, DelayBelowZeroNeverGivesBackByItself) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = -1, .keep_bytes = 0});
  free_apart(m, 3);
  space.set_clock(std::uint64_t{1} << 40);
  m.heap().purge_aged();
  free_apart(m, 3);
  EXPECT_EQ(m.heap().stats().given_back_bytes, 0u);
  EXPECT_GT(m.heap().purge_all(), 0u);
}

TEST(PageHeap, AVeryLongDelayIsNotAShortOne) {
  for (const std::int64_t delay : {std::int64_t{1} << 31, std::int64_t{1} << 32, INT64_MAX}) {
    sealable<test_space> space;
    modelled m(space);
    m.heap().set_policy({.delay_ms = delay, .keep_bytes = 0});
    free_apart(m, 3);
    space.set_clock(space.now_ms() + 60'000);
    m.heap().purge_aged();
    EXPECT_EQ(m.heap().stats().given_back_bytes, 0u) << delay;
  }
}

// ---- what a call does at most -------------------------------------------------------------------

TEST(PageHeap, APurgeGoesOnWhereTheWorkWasSpent) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = 0, .keep_bytes = 0});
  free_apart(m, 10);
  unsigned bin = 0, calls = 0;
  while (bin != m.heap().dirty_bins_end) {
    const std::uint64_t before = m.heap().stats().given_back_bytes;
    work little(1);
    m.heap().purge_aged(bin, false, little);
    EXPECT_LE(m.heap().stats().given_back_bytes - before, 16 * page_size);
    ASSERT_LT(++calls, 100u);
  }
  EXPECT_GE(calls, 10u);
  EXPECT_EQ(m.heap().stats().given_back_bytes, 10 * 16 * page_size);
}

TEST(PageHeap, APurgeGoesPastManyYoungRuns) {
  sealable<test_space> space;
  modelled m(space);
  m.heap().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  std::vector<run*> young;
  for (int i = 0; i < 10; ++i) {
    young.push_back(m.new_large(16, 1));  // in a bin before the old one's
    m.new_large(1, 1);
  }
  run* const old = m.new_large(24, 1);
  m.new_large(1, 1);
  m.drop(old);
  space.set_clock(900);
  for (run* r : young) m.drop(r);
  space.set_clock(1'300);
  unsigned bin = 0, calls = 0;
  while (bin != m.heap().dirty_bins_end) {
    work little(1);
    m.heap().purge_aged(bin, false, little);
    ASSERT_LT(++calls, 20u);
  }
  EXPECT_EQ(m.heap().stats().given_back_bytes, 24 * page_size);
}

TEST(PageHeap, TheNextSlabIsLookedForUntilTheWorkIsSpent) {
  sealable<test_space> space;
  modelled m(space);
  for (int i = 0; i < 10; ++i) m.new_large(1, 1);
  const run* const slab = m.new_slab(7);
  slab_place at;
  unsigned calls = 0;
  for (; at.size_class == 0; ++calls) {
    work little(1);
    at = m.heap().next_slab(at, little);
    ASSERT_FALSE(at.is_end());
  }
  EXPECT_EQ(calls, 11u);
  EXPECT_EQ(at.page, slab->first);
  EXPECT_TRUE(m.heap().next_slab({.page = at.page + slab->pages}).is_end());
}

}  // namespace
