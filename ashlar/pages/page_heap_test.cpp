// Where a page heap finds its pages: the first range and later ones, runs that grow, move and
// merge, slabs by their place.
// Needs POSIX.
#include <tests/support/modelled_page_heap.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/pages/page_heap.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace test;
using modelled = modelled_page_heap;

/// Of 80 MiB: more than a later range has by itself.
constexpr std::size_t huge_pages = (std::size_t{80} << 20) / page_size;

TEST_F(PageHeap, FirstRangeFollowsMemoryAndLimit) {
  if (support::emulated) GTEST_SKIP() << "qemu pays for each reserved page";
  const auto first_range = [](std::size_t physical, std::size_t limit) {
    sealable<test_space> space;
    space.set_physical(physical);
    space.set_limit(limit);
    const auto heap = std::make_unique<pages>(space);
    EXPECT_TRUE(heap->start(standard_classes.bit_words_per_page));
    return heap->first_tables().end / 2;
  };
  constexpr std::size_t gib = std::size_t{1} << 30;
  if constexpr (sizeof(void*) == 8) {
    EXPECT_EQ(first_range(gib, SIZE_MAX), gib) << "the first window";
    EXPECT_EQ(first_range(0, SIZE_MAX), gib);
    EXPECT_EQ(first_range(1024 * gib, SIZE_MAX), gib);
  } else {
    EXPECT_EQ(first_range(gib, SIZE_MAX), gib);
    EXPECT_EQ(first_range(SIZE_MAX, SIZE_MAX), gib) << "a quarter of all addresses";
  }
  EXPECT_EQ(first_range(gib, gib), gib);
  EXPECT_EQ(first_range(gib, gib / 2 + 1), gib);
  EXPECT_EQ(first_range(gib, gib / 32), gib / (sizeof(void*) == 8 ? 32 : 128));
  // As far as its tables tell: to the end of a page of marks.
  EXPECT_LE(first_range(gib, 1), std::max(std::size_t{1} << 20, page_size << mark_shift_max));
}

TEST_F(PageHeap, ReservesLessWhereTheSystemRefuses) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  {
    sealable<test_space> space;  // no room: 64 MiB, and tables
    space.set_gap_max(0);
    space.set_limit(SIZE_MAX);
    space.set_reserve_max(60 * mib);
    modelled m(space);
    ASSERT_NE(m.new_large(100, 1), nullptr);
    EXPECT_GE(space.live_bytes(), 30 * mib) << "halved more than was needed";
    m.audit();
  }
}

void expect_nobodys(pages& heap, const void* p) {
  EXPECT_FALSE(heap.owns(p));
  EXPECT_EQ(heap.class_in_first(p), 0u);
  EXPECT_EQ(heap.class_of(p), 0u);
  EXPECT_EQ(heap.large().at(p), nullptr);
  EXPECT_EQ(heap.large().remove(const_cast<void*>(p)), 0u);
  for (const class_index c : {class_index{1}, class_index{4}}) {
    char* begin = nullptr;
    EXPECT_EQ(heap.slab_of(p, c, begin), nullptr);
  }
}

// The class of any address below the first range's end is looked up without asking who has that
// address.
TEST_F(PageHeap, AnAddressInTheRoomThatNobodyHasIsNobodys) {
  run* const r = m_.new_large(1, 1);
  ASSERT_NE(r, nullptr);
  ASSERT_TRUE(m_.heap().keep_slack());
  char* const begin = m_.heap().address_of(*r);
  char* const far = begin + m_.heap().first_tables().end / 2 - page_size;
  EXPECT_TRUE(m_.heap().owns(begin));
  EXPECT_TRUE(m_.heap().owns(begin + 2 * page_size)) << "free, but the heap's";
  for (char* const p : {far, far + page_size - 1, begin + 2048 * page_size}) {
    expect_nobodys(m_.heap(), p);
    EXPECT_EQ(m_.heap().exchange_slack(p, 7), 0u);
  }
}

TEST_F(PageHeap, AddressesOutsideOfEveryRangeBelongToNobody) {
  int local = 0;
  for (const bool started : {false, true}) {
    if (started) m_.new_slab(1);
    for (const void* p : {static_cast<const void*>(nullptr), static_cast<const void*>(&local),
                          reinterpret_cast<const void*>(UINTPTR_MAX)})
      expect_nobodys(m_.heap(), p);
  }
}

TEST_F(PageHeap, MemoryThatTheSystemDidNotTakeBackIsNotCalledZero) {
  space_.set_limit(8 << 20);  // one range of 2 MiB
  run* first = m_.new_large(200, 1);
  ASSERT_NE(first, nullptr);
  run* second = m_.new_large(200, 1);
  ASSERT_NE(second, nullptr);
  space_.set_reserve_max(space_.live_bytes());
  space_.fail_always(space_call::purge, true);
  m_.drop(first);
  // Nothing long enough is left, so the heap tries to give back and to merge before it refuses.
  EXPECT_EQ(m_.new_large(300, 1), nullptr);
  m_.audit();
  run* again = m_.new_large(200, 1);  // the model reads it if it is called zero
  ASSERT_NE(again, nullptr);
  m_.audit();
  EXPECT_EQ(m_.heap().supply().purge_all(), 0u);
}

TEST_F(PageHeap, GrowsInPlaceUpToTheEndOfItsRangeAndNoFurther) {
  space_.set_gap_max(0);
  space_.set_limit(8 << 20);  // the first range: 2 MiB
  constexpr std::size_t all = (2 << 20) / page_size;
  run* const a = m_.new_large(4, 1);
  m_.resize(a, all + 1);
  EXPECT_EQ(a->pages, 4u) << "one page more than the range has";
  m_.resize(a, all);
  EXPECT_EQ(a->pages, all);
  m_.resize(a, all + 1);
  EXPECT_EQ(a->pages, all);
}

TEST_F(PageHeap, MovedPagesLeaveCleanOnesBehindWithoutASystemCall) {
  run* const from = m_.new_large(200, 1);
  ASSERT_NE(m_.new_large(1, 1), nullptr);
  char* const place = m_.heap().address_of(*from);
  const std::uint64_t committed = m_.heap().stats().committed_bytes;
  run* const to = m_.move(from, 300);
  ASSERT_NE(to, from);
  EXPECT_EQ(space_.calls(space_call::renew) + space_.calls(space_call::purge), 0u);
  EXPECT_EQ(m_.heap().stats().committed_bytes, committed + 100 * page_size);
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 0u) << "nothing was: the block has it all";
  run* const next = m_.new_large(200, 1);
  EXPECT_EQ(m_.heap().address_of(*next), place);
  EXPECT_TRUE(next->zero) << "and the model has read it";
}

TEST_F(PageHeap, ABlockThatHadToMoveGrowsInItsRoomWithoutASystemCall) {
  for (const bool copied : {false, true}) {
    SCOPED_TRACE(copied);
    sealable<test_space> space;
    modelled m(space);
    run* r = m.new_large(200, 1);
    ASSERT_NE(m.new_large(1, 1), nullptr);
    r = copied ? m.copy(r, 300) : m.move(r, 300);
    EXPECT_EQ(m.heap().supply().runs().headroom_pages(), 300u);
    ASSERT_NE(m.new_large(1000, 1), nullptr) << "others are served beside it";
    EXPECT_EQ(m.heap().supply().runs().headroom_pages(), 300u);
    const char* const place = m.heap().address_of(*r);
    const std::uint64_t calls = space.calls();
    while (r->pages < 600) {
      const std::uint32_t before = r->pages;
      m.resize(r, before + 3);
      ASSERT_EQ(r->pages, before + 3);
      m.audit();
    }
    EXPECT_EQ(m.heap().supply().runs().headroom_pages(), 0u);
    EXPECT_EQ(space.calls(), calls);
    EXPECT_EQ(m.heap().address_of(*r), place);
    m.resize(r, 601);
    EXPECT_EQ(r->pages, 600u) << "its room is used up, and others are behind it";
  }
}

TEST_F(PageHeap, RoomIsAddressesOnly) {
  m_.heap().supply().set_pages_max(400);
  run* r = m_.new_large(150, 1);
  ASSERT_NE(m_.new_large(1, 1), nullptr);
  r = m_.move(r, 190);
  EXPECT_EQ(m_.heap().supply().runs().headroom_pages(), 190u);
  const page_heap_stats s = m_.heap().stats();
  EXPECT_EQ(s.committed_bytes, 191 * page_size);
  EXPECT_EQ(s.peak_committed_bytes, 191 * page_size) << "the block was never there twice";
  EXPECT_EQ(s.large_pages, 191u);
  EXPECT_NE(m_.new_large(209, 1), nullptr) << "it counts against no budget";
  m_.resize(r, 191);
  EXPECT_EQ(r->pages, 190u) << "but growth into it does";
  EXPECT_EQ(m_.heap().supply().runs().headroom_pages(), 190u);
}

TEST_F(PageHeap, RoomGoesWhenItsBlockShrinksMovesOrIsFreed) {
  const auto room_after = [](auto change) {
    sealable<test_space> space;
    modelled m(space);
    run* r = m.new_large(200, 1);
    EXPECT_NE(m.new_large(1, 1), nullptr);
    r = m.move(r, 300);
    EXPECT_EQ(m.heap().supply().runs().headroom_pages(), 300u);
    change(m, r);
    m.audit();
    const std::size_t room = m.heap().supply().runs().headroom_pages();
    m.drop_all();
    EXPECT_EQ(m.heap().supply().runs().headroom_pages(), 0u);
    m.audit();
    return room;
  };
  EXPECT_EQ(room_after([](modelled& m, run* r) { m.resize(r, 299); }), 0u);
  EXPECT_EQ(room_after([](modelled& m, run* r) { m.drop(r); }), 0u);
  EXPECT_EQ(room_after([](modelled& m, run* r) { m.move(r, 700); }), 700u);
  EXPECT_EQ(room_after([](modelled& m, run* r) { m.copy(r, 700); }), 700u);
}

TEST_F(PageHeap, RoomsGiveWayBeforeARequestIsRefusedOrARangeIsAdded) {
  for (const bool sealed : {false, true}) {
    SCOPED_TRACE(sealed);
    sealable<test_space> space;
    space.set_gap_max(0);
    space.set_limit(4096 * page_size);  // the first range: 1024 pages
    modelled m(space);
    ASSERT_NE(m.new_large(1, 1), nullptr);
    run* const r = m.move(m.new_large(200, 1), 250);
    ASSERT_EQ(m.heap().supply().runs().headroom_pages(), 250u);
    run* const other = m.move(m.new_large(50, 1), 55);
    ASSERT_EQ(m.heap().supply().runs().headroom_pages(), 305u);
    const std::size_t reservations = space.live_reservations();
    space.seal(sealed);
    const std::size_t rest = 1024 - 1 - 250 - 55;
    std::size_t served = 0;
    while (served + 25 < rest - 50 && m.new_large(25, 1) != nullptr) served += 25;
    EXPECT_GT(served, sealed ? 300u : rest - 100) << "250 pages are clean, the others are rooms";
    EXPECT_EQ(m.heap().supply().runs().headroom_pages(), 0u);
    EXPECT_EQ(space.live_reservations(), reservations);
    space.seal(false);
    space.set_reserve_max(space.live_bytes());
    while (m.new_large(1, 1) != nullptr) {
    }
    m.resize(r, 251);
    m.resize(other, 56);
    EXPECT_EQ(r->pages + other->pages, 305u) << "others are there now";
    m.audit();
  }
}

TEST_F(PageHeap, ARunWhoseMappingsAreKnownIsMovedPieceByPiece) {
  run* r = m_.new_large(200, 1);
  r = m_.move(r, 300);
  ASSERT_EQ(space_.calls(space_call::move), 1u);
  m_.resize(r, 600);
  r = m_.move(r, 700);
  ASSERT_EQ(space_.calls(space_call::move), 3u) << "what was moved, and what it grew by";
  m_.audit();
  EXPECT_EQ(m_.move(r, 800), r) << "it has three mappings now: it is to be copied";
  EXPECT_EQ(space_.calls(space_call::move), 3u);
  r = m_.copy(r, 800);
  m_.audit();
  r = m_.move(r, 900);
  EXPECT_EQ(space_.calls(space_call::move), 4u) << "the copy has one again";
  m_.drop_all();
  m_.heap().supply().purge_all();
  m_.audit();
  EXPECT_EQ(m_.heap().stats().committed_bytes, 0u);
}

TEST_F(PageHeap, AMoveThatFailsHalfwayLeavesTheBlockAsItWas) {
  std::uint64_t failed_moves = 0;
  for (std::uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    sealable<test_space> space;
    space.set_refused_moves_unmap(true);
    modelled m(space);
    run* r = m.move(m.new_large(200, 1), 300);
    m.resize(r, 500);
    const std::uint64_t calls = space.calls();
    space.fail_nth(n);
    run* const to = m.move(r, 900);  // the model looks at what is in it
    const bool ran_out = space.calls() - calls < n;
    if (space.refused(space_call::move) != 0) {
      ++failed_moves;
      EXPECT_EQ(to, r);
      EXPECT_EQ(m.lost(), 0u);
    }
    m.audit();
    space.fail_nth(0);
    if (to == r) {
      EXPECT_NE(m.move(r, 900), r);
    }
    m.audit();
    if (ran_out) break;
  }
  EXPECT_EQ(failed_moves, 2u) << "of what was moved before, and of what it grew by";
}

TEST_F(PageHeap, FreedBlocksThatGrewServeOthersFromMemory) {
  run* const r = m_.move(m_.new_large(200, 1), 300);
  char* const place = m_.heap().address_of(*r);
  ASSERT_NE(m_.new_large(1, 1), nullptr);
  m_.drop(r);
  EXPECT_EQ(m_.heap().stats().given_back_bytes, 0u) << "it is dirty, and somebody may want it";
  run* const next = m_.new_large(250, 1);
  EXPECT_EQ(m_.heap().address_of(*next), place);
  EXPECT_FALSE(next->zero);
  EXPECT_EQ(m_.move(next, 400), next) << "nobody knows where its mappings end";
  m_.drop(next);
  m_.heap().supply().purge_all();
  EXPECT_EQ(space_.calls(space_call::renew), 1u) << "its mapping is healed";
  m_.audit();
  run* const whole = m_.new_large(250, 1);
  EXPECT_NE(m_.move(whole, 400), whole) << "it may be moved again";
  // A long one, or one that did not fit its place, is not held for others.
  m_.drop(m_.move(m_.new_large(1000, 1), 1030));
  EXPECT_EQ(space_.calls(space_call::renew), 2u);
  run* const outgrown = m_.move(m_.new_large(200, 1), 300);
  m_.copy(outgrown, 700);
  EXPECT_EQ(space_.calls(space_call::renew), 3u);
}

TEST_F(PageHeap, WhereABlockHadGrownOthersTakeWhatIsLeftBehindTheNextOneLast) {
  run* const hole = m_.new_large(200, 1);
  m_.resize(hole, 256);
  ASSERT_NE(m_.new_large(1, 1), nullptr);
  run* const other = m_.new_large(300, 1);
  ASSERT_NE(m_.new_large(1, 1), nullptr);
  m_.drop(hole);
  run* const grows = m_.new_large(128, 1);  // 128 pages are left behind it
  m_.drop(other);
  run* const next = m_.new_large(128, 1);  // they would fit best
  const std::uint64_t committed = m_.heap().stats().committed_bytes;
  const char* const place = m_.heap().address_of(*grows);
  m_.resize(grows, 256);
  EXPECT_EQ(grows->pages, 256u);
  EXPECT_EQ(m_.heap().address_of(*grows), place);
  EXPECT_EQ(m_.heap().stats().committed_bytes, committed);
  m_.drop(next);
  m_.resize(grows, 100);
  ASSERT_NE(m_.new_large(300, 1), nullptr);
  ASSERT_NE(m_.new_large(156, 1), nullptr);
  EXPECT_EQ(m_.heap().stats().committed_bytes, committed) << "but before anything is committed";
}

TEST_F(PageHeap, MappingsDoNotMultiplyWithoutEnd) {
  std::uint64_t moved = 0;
  for (int i = 0; i < 5000; ++i) {
    run* const r = m_.new_large(1, 1);
    ASSERT_NE(r, nullptr);
    run* const to = m_.move(r, 2);
    moved += to != r ? 1u : 0u;
  }
  EXPECT_GE(moved, 4000u);
  EXPECT_LE(moved, 4096u) << "a process may have 65,530 mappings, and the program wants some";
  m_.drop_all();
  m_.heap().supply().purge_all();
  m_.audit();
  run* const r = m_.new_large(1, 1);
  EXPECT_NE(m_.move(r, 2), r) << "all are healed";
}

TEST_F(PageHeap, AFreeRunAtTheTopGoesBackToTheRoom) {
  run* const low = m_.new_large(10, 1);
  run* const high = m_.new_large(huge_pages / 4, 1);
  ASSERT_TRUE(low != nullptr && high != nullptr);
  if (sizeof(void*) < 8 && space_.gaps() == 0) GTEST_SKIP() << "no addresses left for a gap";
  const char* const begin = m_.heap().address_of(*high);
  const std::size_t bytes = space_.live_bytes();
  m_.drop(high);
  EXPECT_EQ(space_.live_bytes(), bytes) << "dirty memory is not given back by freeing it";
  m_.heap().supply().purge_all();
  EXPECT_LE(space_.live_bytes(), bytes - huge_pages / 4 * page_size);
  EXPECT_FALSE(m_.heap().owns(begin));
  EXPECT_EQ(m_.heap().large().at(begin), nullptr);
  m_.audit();
  run* const again = m_.new_large(huge_pages / 4, 1);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(m_.heap().address_of(*again), begin);
  m_.audit();
  // Another block behind it, and it stays: there is no hole in a range.
  ASSERT_NE(m_.new_large(1, 1), nullptr);
  m_.drop(again);
  m_.heap().supply().purge_all();
  EXPECT_TRUE(m_.heap().owns(begin));
}

// RLIMIT_DATA counts what may be written to, in use or not, and the marks of a slab are new memory.
TEST_F(PageHeap, FreePagesAreClosedWhereASlabsTablesAreRefused) {
  run* const freed = m_.new_large(8'000, 1);
  ASSERT_NE(m_.new_large(1, 1), nullptr) << "else the heap would leave the addresses";
  m_.drop(freed);
  m_.heap().supply().purge_all();
  space_.refuse_memory_until_closed();
  EXPECT_EQ(m_.new_slab(8, growth::refused), nullptr);
  EXPECT_EQ(space_.calls(space_call::close), 0u);
  EXPECT_NE(m_.new_slab(8), nullptr);
  EXPECT_EQ(space_.calls(space_call::close), 1u);
}

TEST(PageHeapDeathTest, AuditSeesWrongRunsAndWrongSums) {
  sealable<test_space> space;
  modelled m(space);
  ASSERT_NE(m.new_large(2, 1), nullptr);
  run* const r = m.new_large(5, 1);  // behind it
  constexpr const char* broken = "audit\\(0x[0-9a-f]+\\): an internal invariant";
  const auto audit_with = [&](auto change) {
    change();
    m.heap().audit();
  };
  m.heap().audit();
  EXPECT_DEATH(audit_with([&] { ++r->first; }), broken);
  EXPECT_DEATH(audit_with([&] { --r->first; }), broken);
  EXPECT_DEATH(audit_with([&] { r->pages = 0; }), broken);
  EXPECT_DEATH(audit_with([&] { r->kind = run_kind::dirty; }), broken);
  EXPECT_DEATH(audit_with([&] { r->kind = run_kind::clean; }), broken);
}

// Who walks over the slabs holds no lock between two of them, so a place may be anything by then.
TEST_F(PageHeap, SlabsAreFoundByTheirPlaceWhateverCameOfIt) {
  constexpr class_index small = 8, larger = 30;
  run* const first = m_.new_slab(small);
  run* const second = m_.new_slab(small);
  run* const large = m_.new_large(3, 1);
  run* const last = m_.new_slab(larger);
  const auto next_is = [this](slab_place from, const run* r) {
    const slab_place place = m_.heap().next_slab(from);
    return place.size_class == r->size_class && m_.heap().slab_at(place, r->size_class) == r;
  };
  const std::size_t second_page = second->first, last_page = last->first;
  EXPECT_TRUE(next_is({}, first));
  EXPECT_TRUE(next_is({.page = first->first + first->pages}, second));
  EXPECT_TRUE(next_is({.page = second_page + second->pages}, last)) << "over the large block";
  EXPECT_TRUE(next_is({.page = second_page + 1}, last)) << "from inside of a slab";
  EXPECT_EQ(m_.heap().next_slab({.page = last_page + last->pages}).size_class, 0u);
  EXPECT_EQ(m_.heap().next_slab({.range = 7}).size_class, 0u);

  EXPECT_EQ(m_.heap().slab_at({.page = second_page}, larger), nullptr);
  EXPECT_EQ(m_.heap().slab_at({.page = second_page + 1}, small), nullptr);
  EXPECT_EQ(m_.heap().slab_at({.page = large->first}, small), nullptr);
  EXPECT_EQ(m_.heap().slab_at({.page = last_page + last->pages}, larger), nullptr);
  EXPECT_EQ(m_.heap().slab_at({.range = 7}, small), nullptr);

  m_.drop(first);
  m_.drop(second);  // one run with the first's pages: it has no beginning here any more
  EXPECT_TRUE(next_is({.page = second_page}, last));
  EXPECT_EQ(m_.heap().slab_at({.page = second_page}, small), nullptr);
}

}  // namespace
