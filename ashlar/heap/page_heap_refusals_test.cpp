// A page heap whose range is full, or to whom the system gives nothing.
#include <algorithm>
#include <cstdint>
#include <random>
#include <tests/support/modelled_page_heap.hpp>
#include <tests/support/test_space.hpp>

#include <gtest/gtest.h>

#include <ashlar/heap/page_heap.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using test::test_space;
using modelled = modelled_page_heap;

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

TEST(PageHeap, ExhaustionRefusesAndNothingIsLost) {
  sealable<test_space> space;
  modelled m(space);
  confine_to_one_range(m, space);
  std::mt19937_64 random(5);
  for (int round = 0; round < 4; ++round) {
    int refused = 0;
    while (refused < 50) {
      run* r = random() % 2 == 0 ? m.new_slab(random_class(random))
                                 : m.new_large(1 + random() % 60, 1 + random() % 2);
      refused += r == nullptr ? 1 : 0;
    }
    EXPECT_GT(m.live_pages(), range_pages - 48);
    m.audit();
    while (run* r = m.any(random, false)) {
      m.drop(r);
      if (round % 2 == 0 && random() % 64 == 0) m.heap().purge_all();
    }
    m.audit();
    run* whole = m.new_large(range_pages, 1);
    EXPECT_NE(whole, nullptr) << "all is free, so it must be one run again";
    if (whole != nullptr) m.drop(whole);
  }
}

TEST(PageHeap, ARangeServesEveryClassAfterEveryOther) {
  sealable<test_space> space;
  modelled m(space);
  confine_to_one_range(m, space);
  for (std::size_t c = 1; c < class_count; ++c) {
    std::size_t slabs = 0;
    while (m.new_slab(static_cast<class_index>(c)) != nullptr) ++slabs;
    EXPECT_EQ(slabs, range_pages / standard_classes.shapes[c].pages) << "slabs of class " << c;
    m.drop_all();
    m.heap()
        .purge_all();  // else what no slab covered is clean, the rest dirty, and they do not merge
  }
  m.audit();
}

TEST(PageHeap, HugeRequestsAreRefused) {
  sealable<test_space> space;
  modelled m(space);
  pages& heap = m.heap();
  ASSERT_TRUE(heap.start(standard_classes.bit_words_per_page));
  constexpr std::size_t pages_of_half = (SIZE_MAX / 2 + 1) / 4096;  // of all addresses
  EXPECT_EQ(heap.new_large(pages_of_half, 1, growth::allowed), nullptr);
  EXPECT_EQ(heap.new_large(1, pages_of_half, growth::allowed), nullptr);
  EXPECT_EQ(heap.new_large(UINT32_MAX, std::size_t{1} << 31, growth::allowed), nullptr);
  run* r = m.new_large(1, 1);
  EXPECT_FALSE(heap.resize_large(r, pages_of_half));
  EXPECT_FALSE(heap.resize_large(r, UINT32_MAX));
  m.audit();
}

// Records and bitmaps are made for runs of some pages each. Where all are shorter and the system
// gives no more, a request is refused though there are free pages, and these stay free.
TEST(PageHeap, WithoutARecordARequestIsRefusedAndNoPageIsLost) {
  // More than the records of which there is memory at first.
  constexpr std::size_t page_count = std::max<std::size_t>(3000, 8 * page_size / sizeof(run));
  sealable<test_space> space;
  modelled m(space);
  run* const shrinks = m.new_large(2, 1);
  if (sizeof(void*) < 8 && space.gaps() == 0) GTEST_SKIP() << "no addresses left for a gap";
  run* const all = m.new_large(page_count, 1);
  ASSERT_NE(m.new_large(1, 1),
            nullptr);  // at the top, or free pages there would be given up with their record
  m.drop(all);
  space.refuse_memory(true);
  std::size_t served = 0;
  while (m.new_large(1, 1) != nullptr) ++served;
  EXPECT_LT(served, page_count);
  for (const std::size_t align_pages : {2u, 4u, 8u, 16u})
    EXPECT_EQ(m.new_large(1, align_pages), nullptr);
  m.resize(shrinks, 1);
  EXPECT_EQ(shrinks->pages, 2u) << "there was no record for the rest";
  m.audit();
  space.refuse_memory(false);
  while (served < page_count && m.new_large(1, 1) != nullptr) ++served;
  EXPECT_EQ(served, page_count);
  m.audit();
  m.drop_all();
  space.refuse_memory(true);
  EXPECT_NE(m.new_large(page_count, 1), nullptr) << "they do not merge any more";
  m.audit();
}

TEST(PageHeap, WithoutABitmapASlabIsRefusedAndNoPageIsLost) {
  constexpr std::size_t page_count = 1000;
  sealable<test_space> space;
  modelled m(space);
  for (std::size_t i = 0; i < page_count; ++i) ASSERT_NE(m.new_large(1, 1), nullptr);
  m.drop_all();  // so there are records enough
  const std::size_t bytes = space.live_bytes();
  space.refuse_memory(true);
  // A bitmap serves again only for as many words: each class wants its own.
  std::size_t refused = 0;
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    std::size_t slabs = 0;
    while (m.new_slab(c) != nullptr) ++slabs;
    refused += (slabs + 1) * standard_classes.shapes[c].pages <= page_count ? 1u : 0u;
    m.drop_all();
    m.audit();
  }
  EXPECT_GT(refused, 0u);
  m.heap().purge_all();  // so that free pages are one run
  // With large pages, those at the top went back to the system before a slab was refused. They are
  // nobody's until it gives memory again; but no other pages take their place.
  space.refuse_memory(false);
  EXPECT_NE(m.new_large(page_count, 1), nullptr);
  EXPECT_LE(space.live_bytes(), bytes + (std::size_t{1} << 20)) << "pages were lost";
}

TEST(PageHeap, FreshRunsSurviveARefusalAtEveryCall) {
  for (const bool all_after : {false, true}) {
    for (std::uint64_t n = 1;; ++n) {
      SCOPED_TRACE(testing::Message() << "call " << n << (all_after ? " and later" : ""));
      sealable<test_space> space;
      modelled m(space);
      all_after ? space.fail_from(n) : space.fail_nth(n);
      for (int i = 0; i < 600; ++i) static_cast<void>(m.new_large(1, 1));
      const bool ran_out = space.calls() < n;
      m.audit();
      space.fail_nth(0);
      EXPECT_NE(m.new_large(600, 1), nullptr) << "the range does not grow any more";
      m.audit();
      if (HasFailure()) return;
      if (ran_out) break;
    }
  }
}

TEST(PageHeap, SlackEntriesSurviveARefusedStart) {
  sealable<test_space> space;
  modelled m(space);
  run* r = m.new_large(50, 1);
  char* const last = m.heap().address_of(*r) + 50 * page_size - block_granule;
  space.refuse_memory(true);
  EXPECT_FALSE(m.heap().keep_slack());
  space.refuse_memory(false);
  ASSERT_TRUE(m.heap().keep_slack());
  EXPECT_EQ(m.heap().exchange_slack(last, 99), 0u);
  EXPECT_EQ(m.heap().exchange_slack(last, UINT16_MAX + std::size_t{1}), 99u);
  EXPECT_EQ(m.heap().exchange_slack(last, 0), UINT16_MAX);
}

}  // namespace
