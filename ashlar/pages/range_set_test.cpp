// Where fresh pages come from: the first range, later ones, and their end.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/pages/range_set.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace test;
using set = range_set<test_space>;

constexpr std::size_t mib = std::size_t{1} << 20;

/// What a first range has that is in no gap.
constexpr std::size_t without_gap = (sizeof(void*) == 8 ? 64 : 256) * mib;

/// A set whose first range has 256 pages, reserved; limits of later ones are the test's.
struct fixture {
  fixture() {
    space.set_gap_max(0);
    space.set_limit(1024 * page_size);
    EXPECT_TRUE(ranges->start(standard_classes.bit_words_per_page));
    EXPECT_EQ((*ranges)[0].pages, 256u);
  }
  [[nodiscard]] char* address_of(const run* r) const {
    return reinterpret_cast<char*>((*ranges)[r->range].address_of(r->first));
  }

  /// Returns: reservations of `ranges`, each with its addresses and tables, and of the records of
  /// the later ones.
  [[nodiscard]] static std::size_t reservations_of(std::size_t range_count) {
    return 2 * range_count + (range_count > 1 ? 1 : 0);
  }

  test_space space;
  std::unique_ptr<set> ranges = std::make_unique<set>(space);
};

/// A space that says where in a gap things lie.
struct choosing_space : test_space {
  std::uint64_t choice = 0;
  [[nodiscard]] std::uint64_t entropy() const noexcept { return choice; }
};

/// Where a range has its blocks and its tables: offsets in its gap.
struct placement {
  std::uintptr_t tables, blocks;
};
placement placed_by(std::uint64_t choice) {
  choosing_space space;
  space.choice = choice;
  const auto ranges = std::make_unique<range_set<choosing_space>>(space);
  EXPECT_TRUE(ranges->start(standard_classes.bit_words_per_page));
  const page_range& first = (*ranges)[0];
  const auto gap = align_up(reinterpret_cast<std::uintptr_t>(space.last_gap()), 2 * mib);
  const placement found{reinterpret_cast<std::uintptr_t>(first.run_of.entries()) - gap,
                        first.base - gap};
  ranges->release_all();
  EXPECT_EQ(space.gaps(), 0u);
  return found;
}

TEST(RangeSet, EntropyTellsWhereTablesAndBlocksLieEachByItself) {
  if (sizeof(void*) < 8) GTEST_SKIP() << "so few addresses have no gaps";
  const placement a = placed_by(0x0000'0123'0000'4567), b = placed_by(0x0000'0123'0000'9567),
                  c = placed_by(0x0000'7123'0000'4567);
  EXPECT_EQ(a.tables, b.tables);
  EXPECT_NE(a.blocks, b.blocks) << "the lower half moves the blocks";
  EXPECT_NE(a.tables, c.tables) << "the upper half moves the tables";
  EXPECT_EQ(a.blocks - a.tables, c.blocks - c.tables);
  EXPECT_NE(a.blocks - a.tables, b.blocks - b.tables);
}

TEST(RangeSet, FindsAddressesByRange) {
  fixture f;
  run* early = f.ranges->take_fresh(200);
  run* late = f.ranges->take_fresh(1000);
  ASSERT_TRUE(early != nullptr && late != nullptr);
  EXPECT_EQ(early->range, 0u);
  EXPECT_EQ(late->range, 1u);
  const auto number = [&](const run* r, std::size_t offset) {
    return reinterpret_cast<std::uintptr_t>(f.address_of(r)) + offset;
  };
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, 200 * page_size - 1}) {
    EXPECT_EQ(f.ranges->find(number(early, offset)), &(*f.ranges)[0]);
    EXPECT_EQ(f.ranges->first_if_holds(number(early, offset)), &(*f.ranges)[0]);
    EXPECT_EQ(f.ranges->find(number(late, offset)), &(*f.ranges)[1]);
    EXPECT_EQ(f.ranges->first_if_holds(number(late, offset)), nullptr);
  }
  for (std::uint32_t i = 0; i < 2; ++i) {
    const page_range& range = (*f.ranges)[i];
    EXPECT_EQ(f.ranges->find(range.base), &range);
    EXPECT_EQ(f.ranges->find(range.base + range.commit_end * page_size - 1), &range);
    EXPECT_NE(f.ranges->find(range.base - 1), &range);
    EXPECT_NE(f.ranges->find(range.base + range.commit_end * page_size), &range);
  }
  EXPECT_EQ(f.ranges->find(0), nullptr);
  EXPECT_EQ(f.ranges->find(UINTPTR_MAX), nullptr);
}

TEST(RangeSet, LaterRangesGrow) {
  fixture f;
  f.space.set_gap_max(SIZE_MAX);
  f.space.set_limit(SIZE_MAX);
  ASSERT_NE(f.ranges->take_fresh(256), nullptr);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    run* r = f.ranges->take_fresh(1);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(r->range, i);
    EXPECT_EQ((*f.ranges)[i].pages << page_shift, (64 * mib) << i);
    ASSERT_NE(f.ranges->take_fresh((*f.ranges)[i].pages - 1), nullptr) << "the rest of it";
  }
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(4) - 3)
      << "the tables of the later ones are in their gaps";
}

TEST(RangeSet, LaterRangesAreSmallWhereAddressesAreScarceButHoldWhatIsNeeded) {
  fixture f;
  f.space.set_limit(16'384 * page_size);
  ASSERT_NE(f.ranges->take_fresh(257), nullptr);
  EXPECT_EQ((*f.ranges)[1].pages, 2048u);
  run* huge = f.ranges->take_fresh(10'000);
  ASSERT_NE(huge, nullptr);
  EXPECT_EQ(huge->range, 2u);
  EXPECT_EQ((*f.ranges)[2].pages << page_shift, align_up(10'000 * page_size, mib));
  // Halved until the system agrees, down to what is needed.
  f.space.set_limit(SIZE_MAX);
  f.space.set_reserve_max(f.space.live_bytes() + 7680 * page_size);
  run* r = f.ranges->take_fresh(5000);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->range, 3u);
  EXPECT_LE((*f.ranges)[3].pages, 7680u);
}

TEST(RangeSet, AReleasedRangeIsForgottenAndItsSlotServesAgain) {
  fixture f;
  ASSERT_NE(f.ranges->take_fresh(256), nullptr);
  std::vector<run*> later;
  for (int i = 0; i < 3; ++i) later.push_back(f.ranges->take_fresh(1000));
  ASSERT_EQ(f.ranges->count(), 4u);
  ASSERT_EQ(f.space.live_reservations(), fixture::reservations_of(4));
  const auto second = reinterpret_cast<std::uintptr_t>(f.address_of(later[1]));

  f.ranges->release((*f.ranges)[2]);
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(3));
  EXPECT_EQ(f.ranges->count(), 4u) << "a slot in the middle stays";
  EXPECT_EQ(f.ranges->find(second), nullptr);
  EXPECT_EQ(f.ranges->find(0), nullptr) << "an empty slot holds nothing";
  EXPECT_EQ((*f.ranges)[2].pages, 0u);

  run* again = f.ranges->take_fresh(1000);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->range, 2u) << "the free slot, not a new one";
  EXPECT_EQ(again->first, 0u);
  EXPECT_EQ(f.ranges->count(), 4u);
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(4));

  f.ranges->release((*f.ranges)[1]);
  f.ranges->release((*f.ranges)[2]);
  EXPECT_EQ(f.ranges->count(), 4u);
  f.ranges->release((*f.ranges)[3]);
  EXPECT_EQ(f.ranges->count(), 1u) << "all slots behind the first are free";
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(1));
  EXPECT_NE(f.ranges->find((*f.ranges)[0].base), nullptr);
}

TEST(RangeSet, AReleasedRangeTakesItsSlackAlong) {
  fixture f;
  ASSERT_NE(f.ranges->take_fresh(256), nullptr);
  ASSERT_NE(f.ranges->take_fresh(1000), nullptr);
  ASSERT_TRUE(f.ranges->keep_slack());
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(2) + 2)
      << "slack for each of the two";
  run* third = f.ranges->take_fresh(5000);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(3) + 3)
      << "and for one that comes later";
  (*f.ranges)[2].slack_at(reinterpret_cast<std::uintptr_t>(f.address_of(third)) + 5000 * page_size -
                          1) = 77;  // writable to its last block
  f.ranges->release((*f.ranges)[2]);
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(2) + 2);
  f.ranges->release((*f.ranges)[1]);
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(1) + 1);
  ASSERT_NE(f.ranges->take_fresh(1000), nullptr);
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(2) + 2);
}

// ---- in gaps --------------------------------------------------------------------------------

/// A set whose first range is in a gap, of 1 GiB.
struct roomy {
  roomy() {
    EXPECT_TRUE(ranges->start(standard_classes.bit_words_per_page));
    if constexpr (sizeof(void*) >= 8) {
      EXPECT_EQ(space.gaps(), 1u);
    }
  }
  [[nodiscard]] bool has_no_addresses() { return space.gaps() == 0; }
  [[nodiscard]] const page_range& first() const { return (*ranges)[0]; }

  static constexpr std::size_t pages = (1024 * mib) >> page_shift;
  test_space space;
  std::unique_ptr<set> ranges = std::make_unique<set>(space);
};

TEST(RangeSet, ARoomTakesWhatIsUsedAndStaysOneRange) {
  roomy f;
  if (f.has_no_addresses()) GTEST_SKIP() << "no addresses left for a gap";
  EXPECT_EQ(f.first().pages, roomy::pages);
  EXPECT_LE(f.space.live_bytes(), 2 * roomy::pages * sizeof(page_class) + mib)
      << "two entries a page, and the first blocks";
  const block_tables tables = f.ranges->first_tables();
  std::uint32_t next = 0;
  for (const std::size_t count : {1u, 300u, 2000u, 7u, 9000u}) {
    run* const r = f.ranges->take_fresh(count);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(r->range, 0u);
    EXPECT_EQ(r->first, next);
    next += static_cast<std::uint32_t>(count);
    // The tables of two thousandths, and a step that is ahead.
    EXPECT_LE(f.space.live_bytes(), (std::size_t{next} << page_shift) / 6 * 7 + 2 * mib);
    EXPECT_EQ(f.ranges->reserved_bytes(), f.space.live_bytes());
  }
  EXPECT_EQ(f.ranges->first_tables().origin, tables.origin);
  EXPECT_EQ(f.ranges->first_tables().end, tables.end);
  EXPECT_EQ(f.ranges->first_tables().classes, tables.classes);
  EXPECT_EQ(f.space.live_reservations(), 1u) << "the gap";
  f.ranges->release_all();
  EXPECT_EQ(f.space.live_bytes(), 0u);
  EXPECT_EQ(f.space.gaps(), 0u);
}

// Else free pages have no slab where threads have used up all addresses.
TEST(RangeSet, MarksInUseReachAsFarAsTheRange) {
  roomy f;
  if (f.has_no_addresses()) GTEST_SKIP() << "no addresses left for a gap";
  ASSERT_NE(f.ranges->take_fresh(1), nullptr);
  page_range& range = (*f.ranges)[0];
  ASSERT_TRUE(range.have_marks(f.space, mark_shift_min, range.top));
  ASSERT_NE(f.ranges->take_fresh(20'000), nullptr);
  f.space.refuse_memory(true);
  EXPECT_TRUE(range.have_marks(f.space, mark_shift_min, range.top));
  f.space.refuse_memory(false);
}

TEST(RangeSet, WhereSomebodyElseIsInTheRoomTheRangeEnds) {
  roomy f;
  if (f.has_no_addresses()) GTEST_SKIP() << "no addresses left for a gap";
  constexpr std::size_t there = 1000;
  f.space.block_claims(reinterpret_cast<void*>(f.first().address_of(there)), page_size);
  ASSERT_NE(f.ranges->take_fresh(900), nullptr);
  run* const beyond = f.ranges->take_fresh(200);
  ASSERT_NE(beyond, nullptr);
  EXPECT_EQ(beyond->range, 1u);
  ASSERT_NE(f.ranges->take_fresh((*f.ranges)[1].pages - 200), nullptr) << "the rest of the second";
  run* const before = f.ranges->take_fresh(there - 900);
  ASSERT_NE(before, nullptr) << "up to the other's page";
  EXPECT_TRUE(before->range == 0 && before->first == 900u);
  EXPECT_EQ(f.ranges->find(f.first().address_of(there)), nullptr);
  EXPECT_NE(f.ranges->find(f.first().address_of(there) - 1), nullptr);
  run* const next = f.ranges->take_fresh(1);
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->range, 2u);
  f.ranges->release_all();
  EXPECT_EQ(f.space.live_bytes(), 0u) << "and no more was released than what was claimed";
}

/// As `roomy`, in a gap of three windows, of which the first ends after 1,000 pages.
struct windowed {
  static constexpr std::size_t gib = 1024 * mib;
  static constexpr std::size_t usable = 1000;

  windowed() {
    space.set_limit(SIZE_MAX);
    space.set_physical(20 * gib);
    EXPECT_TRUE(ranges->start(standard_classes.bit_words_per_page));
    if (space.gaps() == 1)
      space.block_claims(reinterpret_cast<void*>((*ranges)[0].address_of(usable)), page_size);
  }
  [[nodiscard]] bool has_no_windows() {
    return sizeof(void*) < 8 || support::emulated || space.gaps() == 0;
  }

  test_space space;
  std::unique_ptr<set> ranges = std::make_unique<set>(space);
};

TEST(RangeSet, AllWindowsOfTheFirstGapShareTheTablesOfHits) {
  windowed f;
  if (f.has_no_windows()) GTEST_SKIP() << "no addresses, or too dear";
  set& ranges = *f.ranges;
  EXPECT_EQ(ranges[0].pages << page_shift, windowed::gib);
  EXPECT_LT(f.space.live_bytes(), 2 * mib) << "a small heap has a small class table";
  const block_tables before = ranges.first_tables();
  std::vector<run*> runs = {ranges.take_fresh(900)};
  runs.push_back(ranges.take_fresh(200));
  EXPECT_LT(f.space.live_bytes(), 24 * mib);
  f.space.block_claims(reinterpret_cast<void*>(ranges[1].address_of(windowed::usable)), page_size);
  runs.push_back(ranges.take_fresh(1100));
  ASSERT_NE(runs.back(), nullptr);
  EXPECT_EQ(ranges.reserved_bytes(), f.space.live_bytes());
  const block_tables tables = ranges.first_tables();
  EXPECT_TRUE(tables.origin == before.origin && tables.classes == before.classes &&
              tables.marks == before.marks);
  EXPECT_TRUE(ranges.first_tables_tell_all());
  std::set<block_mark*> marks;
  for (std::uint32_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    run& r = *runs[i];
    ASSERT_EQ(r.range, i);
    page_range& range = ranges[i];
    EXPECT_TRUE(ranges.is_lasting(range));
    r.size_class = static_cast<class_index>(i + 1);
    range.note_slab(r, r.pages, mark_shift_min);
    const std::uintptr_t begin = range.address_of(r.first);
    const std::uintptr_t end = begin + (std::uintptr_t{r.pages} << page_shift);
    for (const std::uintptr_t address : {begin, end - 1}) {
      auto* const at = reinterpret_cast<void*>(address);
      EXPECT_EQ(ranges.find(address), &range);
      EXPECT_EQ(ranges.first_if_holds(address), &range);
      EXPECT_EQ(tables.class_of(at), i + 1);
      EXPECT_EQ(before.class_of(at), i == 0 ? 1 : 0) << "a copy knows what was there before";
      for (unsigned shift = mark_shift_min; shift <= mark_shift_max; ++shift) {
        ASSERT_TRUE(range.have_marks(f.space, shift, range.top));
        EXPECT_EQ(tables.mark_at(at, shift), range.tables.mark_at(at, shift));
        EXPECT_TRUE(marks.insert(tables.mark_at(at, shift)).second) << shift;
        *tables.mark_at(at, shift) = 1;
      }
    }
    EXPECT_EQ(ranges.first_if_holds(range.base - 1), nullptr);
    EXPECT_EQ(tables.class_of(reinterpret_cast<void*>(range.base - 1)), 0);
  }
  EXPECT_EQ(tables.class_of(reinterpret_cast<void*>(tables.origin + tables.end)), 0);
  ranges.release_all();
  EXPECT_EQ(f.space.live_bytes(), 0u);
  EXPECT_EQ(f.space.gaps(), 0u);
}

TEST(RangeSet, ABlockThatFitsTheLastWindowAloneIsThereAndTheOthersStillServe) {
  windowed f;
  if (f.has_no_windows()) GTEST_SKIP() << "no addresses, or too dear";
  run* const large = f.ranges->take_fresh(17 * windowed::gib >> page_shift);
  if (large == nullptr) GTEST_SKIP() << "the system does not promise so much";
  const auto address =
      reinterpret_cast<std::uintptr_t>((*f.ranges)[large->range].address_of(large->first));
  EXPECT_EQ((address - f.ranges->first_tables().origin) / windowed::gib, 256u);
  EXPECT_NE(f.ranges->take_fresh(900), nullptr);
  EXPECT_TRUE(f.ranges->first_tables_tell_all());
}

TEST(RangeSet, WhereAWindowIsRefusedALaterRangeServes) {
  windowed f;
  if (f.has_no_windows()) GTEST_SKIP() << "no addresses, or too dear";
  ASSERT_NE(f.ranges->take_fresh(900), nullptr);
  f.space.fail_always(space_call::claim, true);
  run* const r = f.ranges->take_fresh(200);
  ASSERT_NE(r, nullptr);
  page_range& later = (*f.ranges)[r->range];
  EXPECT_FALSE(f.ranges->first_tables_tell_all());
  EXPECT_FALSE(f.ranges->is_lasting(later));
  EXPECT_EQ(f.ranges->first_if_holds(later.base), nullptr);
  EXPECT_EQ(f.ranges->reserved_bytes(), f.space.live_bytes());
  f.ranges->release(later);
  EXPECT_TRUE(f.ranges->first_tables_tell_all());
  f.space.fail_always(space_call::claim, false);
  run* const again = f.ranges->take_fresh(200);
  ASSERT_NE(again, nullptr);
  EXPECT_TRUE(f.ranges->first_tables_tell_all()) << "the window";
}

TEST(RangeSet, ARoomThatCannotBeUsedIsLeft) {
  for (const bool start : {true, false}) {
    SCOPED_TRACE(start);
    test_space space;
    const auto ranges = std::make_unique<set>(space);
    if (!start) {
      space.set_limit(4 * mib);
    }
    space.fail_always(space_call::claim, start);
    ASSERT_TRUE(ranges->start(standard_classes.bit_words_per_page));
    if (!start) {
      ASSERT_NE(ranges->take_fresh(mib >> page_shift), nullptr);
      space.set_limit(SIZE_MAX);
      space.fail_always(space_call::claim, true);
    }
    run* const r = ranges->take_fresh(10);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(r->range, start ? 0u : 1u);
    EXPECT_EQ(space.gaps(), 0u);
    EXPECT_EQ((*ranges)[r->range].pages << page_shift, start ? without_gap : 128 * mib);
    EXPECT_EQ(ranges->reserved_bytes(), space.live_bytes());
  }
}

TEST(RangeSet, ASmallRoomMakesASmallRange) {
  for (const std::size_t most : {700 * mib, 130 * mib, 100 * mib, 20 * mib}) {
    SCOPED_TRACE(most);
    test_space space;
    space.set_gap_max(most);
    const auto ranges = std::make_unique<set>(space);
    ASSERT_TRUE(ranges->start(standard_classes.bit_words_per_page));
    ASSERT_TRUE(ranges->keep_slack());
    const std::size_t pages = (*ranges)[0].pages;
    if (most < 110 * mib) {
      EXPECT_EQ(space.gaps(), 0u) << "too small for any";
      EXPECT_EQ(pages << page_shift, without_gap);
      continue;
    }
    EXPECT_EQ(space.gaps(), 1u);
    EXPECT_GE(pages << page_shift, std::max(most / 2 - 8 * mib, 64 * mib));
    EXPECT_LT(pages << page_shift, most);
    run* const all = ranges->take_fresh(pages);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(all->range, 0u);
    (*ranges)[0].slack_at((*ranges)[0].address_of(pages) - 1) = 77;
    EXPECT_EQ(ranges->reserved_bytes(), space.live_bytes());
  }
}

TEST(RangeSet, ThereAreNoMoreThanItsSlots) {
  fixture f;
  f.space.set_limit(4 * mib);  // later ranges: 1 MiB each
  std::size_t taken = 0;
  while (f.ranges->take_fresh(256) != nullptr) ++taken;
  EXPECT_EQ(taken, 64u);
  EXPECT_EQ(f.ranges->count(), 64u);
  EXPECT_EQ(f.space.live_reservations(), fixture::reservations_of(64));
  f.ranges->release((*f.ranges)[40]);
  run* r = f.ranges->take_fresh(256);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->range, 40u);
  EXPECT_EQ(f.ranges->take_fresh(1), nullptr);
}

}  // namespace
