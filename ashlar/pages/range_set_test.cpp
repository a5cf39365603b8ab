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

  test_space space;
  std::unique_ptr<set> ranges = std::make_unique<set>(space);
};

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
    EXPECT_GE(pages << page_shift, most / 2);
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
