// When a page heap gives free pages back, and what it does where it gets none.
#include <tests/support/modelled_page_heap.hpp>
#include <tests/support/test_headers.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace test;

// ---- page_heap_giving_back ---------------------------------------------------------------------
// When a page heap gives free pages back to the system, and how many.

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

TEST_F(PageHeap, KeepsWhatIsYoungerThanTheDelay) {
  m_.heap().supply().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  run* a = m_.new_large(16, 1);
  m_.new_large(1, 1);
  run* b = m_.new_large(24, 1);
  m_.new_large(1, 1);
  m_.drop(a);
  space_.set_clock(900);
  m_.drop(b);
  space_.set_clock(1'300);
  m_.heap().supply().purge_aged();
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 16 * page_size);
  space_.set_clock(2'400);
  m_.heap().supply().purge_aged();
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 40 * page_size);
}

TEST_F(PageHeap, AgesRightlyWhenTheClocksLowBitsWrap) {
  space_.set_clock((std::uint64_t{1} << 32) - 500);
  m_.heap().supply().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  free_apart(m_, 2);
  space_.set_clock((std::uint64_t{1} << 32) + 499);
  m_.heap().supply().purge_aged();
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 0u);
  space_.set_clock((std::uint64_t{1} << 32) + 1'000);
  m_.heap().supply().purge_aged();
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 2 * 16 * page_size);
  // What became free after the wrap is young, though its low bits are less than the clock's.
  free_apart(m_, 3);
  space_.set_clock((std::uint64_t{1} << 32) + 1'999);
  m_.heap().supply().purge_aged();
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 2 * 16 * page_size);
  space_.set_clock((std::uint64_t{1} << 32) + 2'000);
  m_.heap().supply().purge_aged();
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 5 * 16 * page_size);
}

TEST_F(PageHeap, KeepsTheBytesItWasToldToKeep) {
  m_.heap().supply().set_policy({.delay_ms = 100, .keep_bytes = 3 * 16 * page_size});
  free_apart(m_, 10);
  space_.set_clock(1'000'000);
  m_.heap().supply().purge_aged();
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 7 * 16 * page_size);
  EXPECT_EQ(m_.heap().supply().purge_all(), 3 * 16 * page_size) << "to keep is for ageing only";
}

TEST_F(PageHeap, DelayZeroGivesBackWheneverItLooks) {
  m_.heap().supply().set_policy({.delay_ms = 0, .keep_bytes = 0});
  run* slab = m_.new_slab(7);
  const std::size_t bytes = slab->pages * page_size;
  m_.drop(slab);
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 0u) << "who gives back is told to";
  m_.heap().supply().purge_aged();
  EXPECT_EQ(m_.heap().stats().given_back_bytes, bytes);
  EXPECT_EQ(m_.heap().stats().committed_bytes, 0u);
  run* again = m_.new_slab(7);
  EXPECT_TRUE(again->zero);
}

TEST_F(PageHeap, DelayBelowZeroNeverGivesBackByItself) {
  m_.heap().supply().set_policy({.delay_ms = -1, .keep_bytes = 0});
  free_apart(m_, 3);
  space_.set_clock(std::uint64_t{1} << 40);
  m_.heap().supply().purge_aged();
  free_apart(m_, 3);
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 0u);
  EXPECT_GT(m_.heap().supply().purge_all(), 0u);
}

TEST_F(PageHeap, AVeryLongDelayIsNotAShortOne) {
  for (const std::int64_t delay : {std::int64_t{1} << 31, std::int64_t{1} << 32, INT64_MAX}) {
    sealable<test_space> space;
    modelled m(space);
    m.heap().supply().set_policy({.delay_ms = delay, .keep_bytes = 0});
    free_apart(m, 3);
    space.set_clock(space.now_ms() + 60'000);
    m.heap().supply().purge_aged();
    EXPECT_EQ(m.heap().stats().given_back_bytes, 0u) << delay;
  }
}

// ---- what a call does at most -------------------------------------------------------------------

TEST_F(PageHeap, APurgeGoesOnWhereTheWorkWasSpent) {
  m_.heap().supply().set_policy({.delay_ms = 0, .keep_bytes = 0});
  free_apart(m_, 10);
  unsigned bin = 0, calls = 0;
  while (bin != m_.heap().supply().dirty_bins_end) {
    const std::uint64_t before = m_.heap().stats().given_back_bytes;
    step_budget little(1);
    m_.heap().supply().purge_aged(bin, false, little);
    EXPECT_LE(m_.heap().stats().given_back_bytes - before, 16 * page_size);
    ASSERT_LT(++calls, 100u);
  }
  EXPECT_GE(calls, 10u);
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 10 * 16 * page_size);
}

TEST_F(PageHeap, APurgeGoesPastManyYoungRuns) {
  m_.heap().supply().set_policy({.delay_ms = 1000, .keep_bytes = 0});
  std::vector<run*> young;
  for (int i = 0; i < 10; ++i) {
    young.push_back(m_.new_large(16, 1));  // in a bin before the old one's
    m_.new_large(1, 1);
  }
  run* const old = m_.new_large(24, 1);
  m_.new_large(1, 1);
  m_.drop(old);
  space_.set_clock(900);
  for (run* r : young) m_.drop(r);
  space_.set_clock(1'300);
  unsigned bin = 0, calls = 0;
  while (bin != m_.heap().supply().dirty_bins_end) {
    step_budget little(1);
    m_.heap().supply().purge_aged(bin, false, little);
    ASSERT_LT(++calls, 20u);
  }
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 24 * page_size);
}

TEST_F(PageHeap, TheNextSlabIsLookedForUntilTheWorkIsSpent) {
  for (int i = 0; i < 10; ++i) m_.new_large(1, 1);
  const run* const slab = m_.new_slab(7);
  slab_place at;
  unsigned calls = 0;
  for (; at.size_class == 0; ++calls) {
    step_budget little(1);
    at = m_.heap().next_slab(at, little);
    ASSERT_FALSE(at.is_end());
  }
  EXPECT_EQ(calls, 11u);
  EXPECT_EQ(at.page, slab->first);
  EXPECT_TRUE(m_.heap().next_slab({.page = at.page + slab->pages}).is_end());
}

// ---- page_heap_refusals ------------------------------------------------------------------------
// A page heap whose range is full, or to whom the system gives nothing.

constexpr std::size_t range_pages = 1024;

/// Makes the heap's one range a single free run; another range is refused.
void confine_to_one_range(modelled& m, test_space& space) {
  space.set_gap_max(0);
  space.set_limit(4 * range_pages * page_size);
  run* whole = m.new_large(range_pages, 1);
  ASSERT_NE(whole, nullptr);
  space.set_reserve_max(space.live_bytes());
  m.drop(whole);
}

TEST_F(PageHeap, ExhaustionRefusesAndNothingIsLost) {
  confine_to_one_range(m_, space_);
  std::mt19937_64 random(5);
  for (int round = 0; round < 4; ++round) {
    int refused = 0;
    while (refused < 50) {
      run* r = random() % 2 == 0 ? m_.new_slab(random_class(random))
                                 : m_.new_large(1 + random() % 60, 1 + random() % 2);
      refused += r == nullptr ? 1 : 0;
    }
    EXPECT_GT(m_.live_pages(), range_pages - 48);
    m_.audit();
    while (run* r = m_.any(random, false)) {
      m_.drop(r);
      if (round % 2 == 0 && random() % 64 == 0) m_.heap().supply().purge_all();
    }
    m_.audit();
    run* whole = m_.new_large(range_pages, 1);
    EXPECT_NE(whole, nullptr) << "all is free, so it must be one run again";
    if (whole != nullptr) m_.drop(whole);
  }
}

TEST_F(PageHeap, ARangeServesEveryClassAfterEveryOther) {
  confine_to_one_range(m_, space_);
  for (std::size_t c = 1; c < class_count; ++c) {
    std::size_t slabs = 0;
    while (m_.new_slab(static_cast<class_index>(c)) != nullptr) ++slabs;
    EXPECT_EQ(slabs, range_pages / standard_classes.shapes[c].pages) << "slabs of class " << c;
    m_.drop_all();
    // Else what no slab covered is clean, the rest dirty, and they do not merge.
    m_.heap().supply().purge_all();
  }
}

TEST_F(PageHeap, HugeRequestsAreRefused) {
  pages& heap = m_.heap();
  ASSERT_TRUE(heap.start(standard_classes.bit_words_per_page));
  constexpr std::size_t pages_of_half = (SIZE_MAX / 2 + 1) / 4096;  // of all addresses
  EXPECT_EQ(heap.large().make(pages_of_half, 1, growth::allowed), nullptr);
  EXPECT_EQ(heap.large().make(1, pages_of_half, growth::allowed), nullptr);
  EXPECT_EQ(heap.large().make(UINT32_MAX, std::size_t{1} << 31, growth::allowed), nullptr);
  run* r = m_.new_large(1, 1);
  EXPECT_FALSE(heap.large().resize(r, pages_of_half));
  EXPECT_FALSE(heap.large().resize(r, UINT32_MAX));
}

// Records and bitmaps are made for runs of some pages each. Where all are shorter and the system
// gives no more, a request is refused though there are free pages, and these stay free.
TEST_F(PageHeap, WithoutARecordARequestIsRefusedAndNoPageIsLost) {
  // More than the records of which there is memory at first.
  constexpr std::size_t page_count = std::max<std::size_t>(3000, 8 * page_size / sizeof(run));
  run* const shrinks = m_.new_large(2, 1);
  if (sizeof(void*) < 8 && space_.gaps() == 0) GTEST_SKIP() << "no addresses left for a gap";
  run* const all = m_.new_large(page_count, 1);
  ASSERT_NE(m_.new_large(1, 1),
            nullptr);  // at the top, or free pages there would be given up with their record
  m_.drop(all);
  space_.refuse_memory(true);
  std::size_t served = 0;
  while (m_.new_large(1, 1) != nullptr) ++served;
  EXPECT_LT(served, page_count);
  for (const std::size_t align_pages : {2u, 4u, 8u, 16u})
    EXPECT_EQ(m_.new_large(1, align_pages), nullptr);
  m_.resize(shrinks, 1);
  EXPECT_EQ(shrinks->pages, 2u) << "there was no record for the rest";
  m_.audit();
  space_.refuse_memory(false);
  while (served < page_count && m_.new_large(1, 1) != nullptr) ++served;
  EXPECT_EQ(served, page_count);
  m_.audit();
  m_.drop_all();
  space_.refuse_memory(true);
  EXPECT_NE(m_.new_large(page_count, 1), nullptr) << "they do not merge any more";
}

// RLIMIT_DATA counts what may be written to, in use or not, and records are new memory.
TEST_F(PageHeap, FreePagesAreClosedWhereARecordIsRefused) {
  constexpr std::size_t page_count = std::max<std::size_t>(3000, 8 * page_size / sizeof(run));
  run* const all = m_.new_large(page_count, 1);
  ASSERT_NE(m_.new_large(1, 1), nullptr);
  m_.drop(all);
  space_.refuse_memory_until_closed();
  for (std::size_t i = 0; i < page_count; ++i) ASSERT_NE(m_.new_large(1, 1), nullptr) << i;
  EXPECT_EQ(space_.calls(space_call::close), 1u);
}

TEST_F(PageHeap, WithoutABitmapASlabIsRefusedAndNoPageIsLost) {
  constexpr std::size_t page_count = 1000;
  for (std::size_t i = 0; i < page_count; ++i) ASSERT_NE(m_.new_large(1, 1), nullptr);
  m_.drop_all();  // so there are records enough
  const std::size_t bytes = space_.live_bytes();
  space_.refuse_memory(true);
  // A bitmap serves again only for as many words: each class wants its own.
  std::size_t refused = 0;
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    std::size_t slabs = 0;
    while (m_.new_slab(c) != nullptr) ++slabs;
    refused += (slabs + 1) * standard_classes.shapes[c].pages <= page_count ? 1u : 0u;
    m_.drop_all();
    m_.audit();
  }
  EXPECT_GT(refused, 0u);
  // With large pages, those at the top went back to the system before a slab was refused, and some
  // were closed. They are nobody's until it gives memory again; but no other pages take their
  // place.
  space_.refuse_memory(false);
  for (std::size_t i = 0; i < page_count; ++i) ASSERT_NE(m_.new_large(1, 1), nullptr);
  EXPECT_LE(space_.live_bytes(), bytes + (std::size_t{1} << 20)) << "pages were lost";
}

TEST_F(PageHeap, SlackEntriesSurviveARefusedStart) {
  run* r = m_.new_large(50, 1);
  char* const last = m_.heap().address_of(*r) + 50 * page_size - block_granule;
  space_.refuse_memory(true);
  EXPECT_FALSE(m_.heap().keep_slack());
  space_.refuse_memory(false);
  ASSERT_TRUE(m_.heap().keep_slack());
  EXPECT_EQ(m_.heap().exchange_slack(last, 99), 0u);
  EXPECT_EQ(m_.heap().exchange_slack(last, UINT16_MAX + std::size_t{1}), 99u);
  EXPECT_EQ(m_.heap().exchange_slack(last, 0), UINT16_MAX);
}

}  // namespace
