// Closed pages: behind each slab of a hardened process's heap, and where freed large blocks were.
// Needs POSIX.
#include <tests/support/modelled_page_heap.hpp>
#include <tests/support/test_headers.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace test;
using modelled = modelled_page_heap;

/// Returns: whether the byte at `p` can be read: the system says so without a fault.
bool is_accessible(const char* p) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const bool done = ::write(ends[1], p, 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return done;
}

TEST_F(PageHeap, AClosedPageLiesBehindEachSlabBehindSoManyAsAreAllowed) {
  run* const before = m_.new_slab(5);
  m_.close_behind_slabs();
  const std::size_t own = standard_classes.shapes[5].pages;
  std::vector<run*> slabs;
  for (int i = 0; i < 25; ++i) slabs.push_back(m_.new_slab(5));
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    const char* const behind = m_.heap().address_of(*slabs[i]) + own * page_size;
    EXPECT_EQ(is_accessible(behind - 1), true);
    if (i < 20) {
      EXPECT_FALSE(is_accessible(behind)) << i;
      EXPECT_EQ(m_.heap().class_of(behind), 0u);
      EXPECT_EQ(m_.heap().large().at(behind), nullptr);
    }
  }
  EXPECT_EQ(before->pages, own);
  EXPECT_EQ(slabs[20]->pages, own) << "more than were allowed";
  EXPECT_EQ(m_.heap().stats().committed_bytes, 26 * own * page_size) << "closed pages cost nothing";
  m_.audit();
  // The closed pages of slabs that leave are pages like others, and other slabs get closed ones for
  // them.
  for (std::size_t i = 0; i < 10; ++i) m_.drop(slabs[i]);
  m_.audit();
  run* const later = m_.new_slab(5);
  EXPECT_FALSE(is_accessible(m_.heap().address_of(*later) + own * page_size));
  EXPECT_NE(m_.new_large(3 * (own + 1), 1), nullptr);
  m_.drop_all();
  m_.heap().supply().purge_all();
}

TEST_F(PageHeap, ASealedHeapClosesNoPageAndOpensThoseThatAre) {
  m_.close_behind_slabs();
  run* const closed = m_.new_slab(5);
  run* const kept = m_.new_large(100, 1);
  m_.drop(kept);
  space_.seal(true);
  const std::uint64_t calls = space_.calls();
  EXPECT_EQ(m_.new_slab(5)->pages, standard_classes.shapes[5].pages);
  EXPECT_EQ(space_.calls(), calls);
  m_.drop(closed);
  EXPECT_EQ(space_.calls(), calls + 1);
  space_.seal(false);
}

// Where RLIMIT_DATA is used up, as by the slab's own pages.
TEST_F(PageHeap, ASlabIsFreeThoughItsClosedPageIsNotOpened) {
  m_.close_behind_slabs();
  run* const slab = m_.new_slab(5);
  const std::size_t own = standard_classes.shapes[5].pages;
  const char* const begin = m_.heap().address_of(*slab);
  ASSERT_NE(m_.new_large(1, 1), nullptr);
  space_.refuse_memory(true);
  space_.fail_always(space_call::renew, true);
  m_.drop(slab);
  m_.audit();
  EXPECT_EQ(m_.heap().stats().committed_bytes, (own + 1) * page_size);
  run* const again = m_.new_large(own, 1);
  ASSERT_NE(again, nullptr) << "the pages are lost";
  EXPECT_EQ(m_.heap().address_of(*again), begin);
  EXPECT_FALSE(is_accessible(begin + own * page_size));
}

TEST_F(PageHeap, PagesThatTheSystemDoesNotCloseAreCountedAndUsedByNobody) {
  m_.close_behind_slabs();
  run* const closed = m_.new_slab(5);
  EXPECT_EQ(m_.heap().stats().closes_refused, 0u);
  space_.fail_always(space_call::close, true);
  run* const open = m_.new_slab(5);
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open->pages, closed->pages);
  EXPECT_EQ(m_.heap().stats().closes_refused, 1u);
  const char* const behind = m_.heap().address_of(*open) + (open->pages - 1) * page_size;
  EXPECT_TRUE(is_accessible(behind));
  EXPECT_EQ(m_.heap().class_of(behind), 0u);
  m_.audit();
  m_.drop_all();
}

// ---- freed large blocks -------------------------------------------------------------------------

/// A heap with a large block at its end, which stays. So no other one is the last. At the end of a
/// test it is audited, also when all has been freed.
struct own_space {
  sealable<test_space> space;
};
struct closing_heap : own_space, modelled {
  explicit closing_heap(closing which) : modelled(space) { close_freed(which); }
  ~closing_heap() {
    audit();
    drop_all();
    audit();
  }
  /// Returns: large blocks of `pages` pages, of which the last is not the heap's last.
  std::vector<run*> blocks(std::size_t count, std::size_t pages) {
    std::vector<run*> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(new_large(pages, 1));
    EXPECT_NE(new_large(1, 1), nullptr);
    return made;
  }
  char* drop_at(run* r) {
    char* const begin = heap().address_of(*r);
    drop(r);
    return begin;
  }
};
/// Returns: whether neither the first nor the last of the pages at `begin` can be accessed.
bool is_closed(const char* begin, std::size_t pages) {
  return !is_accessible(begin) && !is_accessible(begin + pages * page_size - 1);
}

TEST(ClosedPages, FreedLargeBlocksAreClosedUntilTheirAddressesAreNeeded) {
  closing_heap m(closing::always);
  const std::vector<run*> made = m.blocks(4, 50);
  const std::uint64_t committed = m.heap().stats().committed_bytes;
  char* const second = m.drop_at(made[1]);
  EXPECT_TRUE(is_closed(second, 50));
  EXPECT_EQ(m.heap().stats().committed_bytes, committed - 50 * page_size);
  EXPECT_GE(m.heap().stats().given_back_bytes, 50 * page_size);
  char* const third = m.drop_at(made[2]);
  EXPECT_TRUE(is_closed(third, 50));
  m.audit();
  // The two are one run. Of it as much serves as is needed, when enough others have been closed.
  EXPECT_NE(m.heap().address_of(*m.new_large(70, 1)), second);
  m.drop(m.blocks(2, (std::size_t{64} << 20) / page_size)[0]);
  run* const again = m.new_large(70, 1);
  EXPECT_EQ(m.heap().address_of(*again), second);
  EXPECT_TRUE(again->zero);
  EXPECT_TRUE(is_closed(second + 70 * page_size, 30));
  m.audit();
  m.drop_all();
  m.audit();
  EXPECT_EQ(m.heap().stats().committed_bytes, 0u);
}

TEST(ClosedPages, ASlabAndAGrowingBlockGetPagesThatWereClosed) {
  closing_heap m(closing::always);
  const std::vector<run*> made = m.blocks(3, standard_classes.shapes[5].pages);
  char* const begin = m.drop_at(made[1]);
  m.drop(m.blocks(2, (std::size_t{64} << 20) / page_size)[0]);
  run* const slab = m.new_slab(5);
  EXPECT_EQ(m.heap().address_of(*slab), begin);
  m.drop(slab);
  m.heap().supply().purge_all();
  const std::vector<run*> others = m.blocks(3, 100);
  m.drop(others[1]);
  m.resize(others[0], 150);
  EXPECT_EQ(others[0]->pages, 150u) << "it did not grow into closed pages";
  EXPECT_TRUE(is_closed(m.heap().address_of(*others[0]) + 150 * page_size, 50));
}

TEST(ClosedPages, WhatABlockLosesOrLeavesIsClosed) {
  closing_heap m(closing::always);
  const std::vector<run*> made = m.blocks(2, 300);
  char* const begin = m.heap().address_of(*made[0]);
  m.resize(made[0], 100);
  EXPECT_TRUE(is_accessible(begin + 100 * page_size - 1));
  EXPECT_TRUE(is_closed(begin + 100 * page_size, 200));
  run* const moved = m.move(made[0], 1000);
  if (m.heap().address_of(*moved) != begin) {  // else the system does not move pages
    EXPECT_TRUE(is_closed(begin, 100));
  }
  char* const second = m.heap().address_of(*made[1]);
  m.copy(made[1], 700);
  EXPECT_TRUE(is_closed(second, 300));
}

TEST(ClosedPages, ByDefaultABlockIsClosedIfNoneAsLargeWasFreedBeforeItWasMade) {
  if (page_size > 4096) GTEST_SKIP() << "9 MiB are too few pages for these blocks";
  closing_heap m(closing::first);
  const std::vector<run*> made = m.blocks(3, 50);
  EXPECT_TRUE(is_closed(m.drop_at(made[1]), 50));
  EXPECT_TRUE(is_closed(m.drop_at(made[0]), 50)) << "it was made before";
  // From now on 50 pages are freed as before, and more pages are closed once.
  const std::vector<run*> later = m.blocks(3, 50);
  EXPECT_TRUE(is_accessible(m.drop_at(later[1])));
  const std::vector<run*> larger = m.blocks(3, 60);
  EXPECT_TRUE(is_closed(m.drop_at(larger[1]), 60));
  EXPECT_TRUE(is_accessible(m.drop_at(m.blocks(2, 60)[0])));
  EXPECT_TRUE(is_accessible(m.drop_at(m.blocks(2, 2305)[0]))) << "too many pages to get again";
}

TEST(ClosedPages, ByDefaultFewPagesAreClosed) {
  closing_heap m(closing::first);
  const std::vector<run*> made = m.blocks(60, 50);
  int closed = 0;
  for (std::size_t i = 0; i < 59; ++i) closed += is_accessible(m.drop_at(made[i])) ? 0 : 1;
  EXPECT_EQ(closed, static_cast<int>((std::size_t{9} << 20 >> page_shift) / 50));
  // A block that has a class where it is not asked to be zero.
  EXPECT_TRUE(is_accessible(m.drop_at(m.blocks(2, 32)[0])));
}

TEST(ClosedPages, ABlockThatGetsNoClosedPageForWantOfARecordIsAsLongAsAsked) {
  std::size_t made = 0;
  for (int before = 0; before < 127; ++before) {
    closing_heap m(closing::first);
    m.drop(m.new_large(1200, 1));
    for (int i = 0; i < before; ++i) ASSERT_NE(m.new_large(1, 4), nullptr);
    m.space.refuse_memory(true);
    while (m.new_large(1, 1) != nullptr) ++made;  // the model looks at the length
    m.space.refuse_memory(false);
    m.audit();
  }
  EXPECT_GT(made, 127u);
}

TEST(ClosedPages, ByDefaultAClosedPageLiesBehindEachOfTheFirstLargeBlocks) {
  closing_heap m(closing::first);
  const auto behind = [&m](const run* r) { return m.heap().address_of(*r) + r->pages * page_size; };
  std::vector<run*> made;
  for (std::size_t i = 0; i < 134; ++i) made.push_back(m.new_large(50, 1));
  for (std::size_t i = 0; i < 128; ++i) {
    EXPECT_TRUE(is_accessible(behind(made[i]) - 1)) << i;
    EXPECT_FALSE(is_accessible(behind(made[i]))) << i;
    EXPECT_EQ(made[i]->pages, 50u) << i;
  }
  for (std::size_t i = 128; i < 133; ++i) EXPECT_TRUE(is_accessible(behind(made[i]))) << i;
  m.audit();
  // A block grows over its closed page, and one that leaves takes it along: there is no hole in
  // what is free.
  m.drop(made[2]);
  m.resize(made[1], 80);
  EXPECT_EQ(made[1]->pages, 80u);
  EXPECT_TRUE(is_accessible(behind(made[1]) - 1));
  m.audit();
  for (std::size_t i = 3; i < 128; ++i) m.drop(made[i]);
  m.audit();
  run* const all = m.new_large(16 * 51, 1);
  EXPECT_LT(m.heap().address_of(*all), m.heap().address_of(*made[133])) << "no addresses were lost";
  m.drop_all();
}

// Where a request waits for pages to leave, another may take the last closed page meanwhile.
TEST(ClosedPages, ByDefaultNoMorePagesAreClosedThoughARequestWaited) {
  closing_heap m(closing::first);
  const auto behind = [&m](const run* r) { return m.heap().address_of(*r) + r->pages * page_size; };
  std::vector<run*> small = m.blocks(20, 10);  // every other one is dirty soon, and none is closed
  for (int i = 0; i < 106; ++i) m.new_large(50, 1);
  m.heap().large().close_freed(closing::never);
  for (std::size_t i = 0; i < small.size(); i += 2) m.drop(small[i]);
  m.heap().large().close_freed(closing::first);
  m.heap().supply().set_pages_max(m.heap().supply().committed_bytes() >> page_shift);
  bool other_is_closed = false;
  m.space.before_next_purge([&] {
    m.space.before_next_purge([&] { other_is_closed = !is_accessible(behind(m.new_large(8, 1))); });
  });
  ASSERT_NE(m.new_large(40, 1), nullptr);
  EXPECT_TRUE(other_is_closed);
  m.heap().supply().set_pages_max(SIZE_MAX);
  for (int i = 0; i < 3; ++i) m.new_large(50, 1);
  run* const later = m.new_large(50, 1);
  ASSERT_NE(m.new_large(50, 1), nullptr);
  EXPECT_TRUE(is_accessible(behind(later)));
}

TEST(ClosedPages, ByDefaultABlockWhosePageIsNotClosedServesAsWell) {
  closing_heap m(closing::first);
  m.space.fail_always(space_call::close, true);
  run* const open = m.new_large(50, 1);
  ASSERT_NE(open, nullptr);
  EXPECT_TRUE(is_accessible(m.heap().address_of(*open) + 50 * page_size));
  m.audit();
  m.space.fail_always(space_call::close, false);
  m.space.seal(true);
  const std::uint64_t calls = m.space.calls();
  m.drop(open);
  EXPECT_NE(m.new_large(40, 1), nullptr);
  EXPECT_EQ(m.space.calls(), calls);
}

TEST(ClosedPages, ByDefaultNothingIsClosedWhereFreeMemoryIsKept) {
  for (const purge_policy policy : {purge_policy{.delay_ms = -1, .keep_bytes = 0},
                                    purge_policy{.delay_ms = 1000, .keep_bytes = 1 << 20}}) {
    closing_heap m(closing::first);
    m.heap().supply().set_policy(policy);
    EXPECT_TRUE(is_accessible(m.drop_at(m.blocks(2, 50)[0])));
    m.audit();
  }
}

TEST(ClosedPages, FreedBlocksThatCannotBeClosedAreZero) {
  closing_heap m(closing::always);
  const std::vector<run*> made = m.blocks(4, 50);
  m.space.fail_always(space_call::close, true);
  const char* const refused = m.drop_at(made[0]);
  EXPECT_TRUE(is_accessible(refused));
  EXPECT_EQ(refused[0], 0);
  m.space.fail_always(space_call::close, false);
  m.space.seal(true);
  const std::uint64_t calls = m.space.calls();
  const char* const sealed = m.drop_at(made[1]);
  EXPECT_LE(m.space.calls(), calls + 1) << "a page behind the block may be closed";
  EXPECT_TRUE(is_accessible(sealed));
  EXPECT_EQ(sealed[0], 0);
  m.space.seal(false);
}

TEST(ClosedPages, NoMoreThanSoManyRunsAreClosed) {
  closing_heap m(closing::always);
  std::vector<run*> made;
  constexpr std::size_t most = 4096, more = most + 10;
  for (std::size_t i = 0; i < 2 * more; ++i) made.push_back(m.new_large(1, 1));
  std::size_t closed = 0;
  for (std::size_t i = 0; i < 2 * more; i += 2) closed += is_accessible(m.drop_at(made[i])) ? 0 : 1;
  EXPECT_EQ(closed, most);
}

TEST(ClosedPages, ClosedPagesServeWhereAddressesAreOut) {
  closing_heap m(closing::always);
  m.space.set_limit(16 << 20);
  std::vector<run*> made;
  for (run* r = m.new_large(20, 1); r != nullptr; r = m.new_large(20, 1)) made.push_back(r);
  // Every other one is closed, the others are clean or dirty: only together are they long enough.
  m.close_freed(closing::never);
  for (std::size_t i = 1; i < made.size(); i += 2) m.drop(made[i]);
  m.close_freed(closing::always);
  for (std::size_t i = 0; i < made.size(); i += 2) m.drop(made[i]);
  EXPECT_NE(m.new_large(60, 1), nullptr);
}

// Pages between closed ones are long enough only with these, for which there is room where others
// are closed instead.
TEST(ClosedPages, ClosedPagesServeWhereOthersAreClosedForThem) {
  closing_heap m(closing::first);
  const std::vector<run*> made = m.blocks(3, 50);
  run* const apart = m.blocks(2, 3)[0];
  m.close_freed(closing::never);
  m.space.refuse_memory_until_closed();
  for (run* const r : {made[0], made[1], made[2], apart}) m.drop(r);
  m.heap().supply().purge_all();
  EXPECT_NE(m.new_large(120, 1), nullptr);
}

TEST(ClosedPages, ALargeBlockKeepsWhatWasNotedOfIt) {
  closing_heap m(closing::never);
  run* const r = m.blocks(1, 50)[0];
  char* const begin = m.heap().address_of(*r);
  EXPECT_EQ(m.heap().large().find(begin).bytes, 50 * page_size);
  EXPECT_EQ(m.heap().large().find(begin).note, 0u);
  m.heap().large().note(begin, 77);
  EXPECT_EQ(m.heap().large().find(begin).note, 77u);
  EXPECT_EQ(m.heap().large().find(begin + page_size).bytes, 0u);
  m.drop(r);
  m.heap().large().note(begin, 78);
  EXPECT_EQ(m.heap().large().find(begin).bytes, 0u);
  run* const again = m.new_large(50, 1);
  EXPECT_EQ(m.heap().large().find(m.heap().address_of(*again)).note, 0u);
}

}  // namespace
