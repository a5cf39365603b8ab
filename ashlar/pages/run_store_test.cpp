// Runs without a policy: their bins, how they are cut and merged, and what is kept behind a large
// block.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_space.hpp>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/pages/run_store.hpp>

namespace {

using namespace ashlar::detail;
using namespace ashlar;
using test::test_space;

// ---- run_bins ----------------------------------------------------------------------------------

TEST(RunBins, TakeTheLongestRunThereCanBe) {
  run r;
  r.pages = UINT32_MAX;
  run_bins bins;
  bins.insert(&r);
  EXPECT_EQ(bins.find(UINT32_MAX), &r);
  if constexpr (sizeof(std::size_t) > 4) {
    EXPECT_EQ(bins.find(std::size_t{UINT32_MAX} + 1), nullptr);
    EXPECT_EQ(bins.find(SIZE_MAX), nullptr);
  }
}

TEST(RunBins, AVisitBeginsWithTheRunThatHasWaitedLongest) {
  std::vector<run> records(6);
  run_bins bins;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].pages = i < 4 ? 3 : 7;
    bins.insert(&records[i]);
  }
  const auto order = [&](unsigned from, std::size_t most, unsigned& stopped) {
    std::vector<std::ptrdiff_t> seen;
    stopped = bins.visit_from(from, [&](run* r) {
      seen.push_back(r - records.data());
      return seen.size() < most;
    });
    return seen;
  };
  unsigned bin = 0;
  EXPECT_EQ(order(0, 100, bin), (std::vector<std::ptrdiff_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(bin, run_bins::bins_end);
  EXPECT_EQ(order(0, 2, bin), (std::vector<std::ptrdiff_t>{0, 1}));
  EXPECT_EQ(order(bin, 100, bin), (std::vector<std::ptrdiff_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(order(0, 5, bin), (std::vector<std::ptrdiff_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(order(bin, 100, bin), (std::vector<std::ptrdiff_t>{4, 5}))
      << "the bin where it stopped";
  for (const int removed : {0, 3, 1}) {  // the oldest, the newest, one between others
    bins.remove(&records[static_cast<std::size_t>(removed)]);
    bins.insert(&records[static_cast<std::size_t>(removed)]);
    EXPECT_EQ(order(0, 100, bin).at(3), removed) << "it is the newest now";
  }
}

// ---- run_store ---------------------------------------------------------------------------------
// Runs without a policy: how they are cut and merged, and what is kept behind a large block.

/// A store whose first range has 256 pages, reserved.
struct store_fixture {
  store_fixture() {
    space.set_gap_max(0);
    space.set_limit(1024 * page_size);
    EXPECT_TRUE(runs->ranges().start(standard_classes.bit_words_per_page));
  }
  ~store_fixture() { runs->ranges().release_all(); }

  /// Returns: a large block of `pages` fresh ones.
  run* fresh(std::size_t pages) {
    run* r = runs->take_fresh_here(pages);
    EXPECT_NE(r, nullptr);
    r = runs->carve(r, pages, 1);
    runs->set_kind(r, run_kind::large);
    return r;
  }
  std::size_t used() { return runs->audit("test"); }

  sealable<test_space> space;
  std::unique_ptr<run_store<test_space>> runs = std::make_unique<run_store<test_space>>(space);
};

TEST(RunStore, WhatIsLeftOfACutIsFreeAsItWas) {
  store_fixture f;
  run* const a = f.fresh(64);
  f.fresh(1);
  f.runs->make_dirty(a);
  run* const r = f.runs->carve(f.runs->take_dirty(64), 5, 1);
  f.runs->set_kind(r, run_kind::large);
  EXPECT_FALSE(r->zero);
  EXPECT_EQ(f.runs->dirty_pages(), 59u);
  EXPECT_EQ(f.used(), 6u);
}

TEST(RunStore, ARequestEndsSoManyHeadroomsAtMost) {
  store_fixture f;
  std::vector<run*> blocks;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(f.fresh(2));
    run* const behind = f.fresh(3);
    f.fresh(1);
    f.runs->make_clean(behind);
  }
  for (const run* block : blocks) f.runs->keep_headroom(*block, 3);
  EXPECT_EQ(f.runs->headroom_pages(), 60u);
  run* const got = f.runs->take_from_headrooms(3, 5);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(f.runs->headroom_pages(), 45u);
  EXPECT_EQ(f.runs->take_from_headrooms(4, SIZE_MAX), nullptr);
  EXPECT_EQ(f.runs->headroom_pages(), 0u);
  f.runs->make_clean(got);
}

TEST(RunStore, ABlockGrowsIntoSoManyRunsAtMost) {
  for (const std::size_t runs : {8u, 9u}) {
    store_fixture f;
    run* const block = f.fresh(1);
    std::vector<run*> behind;
    for (std::size_t i = 0; i < runs; ++i) behind.push_back(f.fresh(1));
    f.fresh(1);
    for (std::size_t i = 0; i < runs; ++i)
      i % 2 == 0 ? f.runs->make_clean(behind[i]) : f.runs->make_dirty(behind[i]);
    EXPECT_EQ(f.runs->free_behind(*block, runs).enough, runs == 8);
    EXPECT_TRUE(f.runs->free_behind(*block, 8).enough);
  }
}

TEST(RunStore, AsManyMappingsAsThereAreAtMostMayBeMoved) {
  store_fixture f;
  run* const a = f.fresh(8);
  EXPECT_TRUE(f.runs->is_movable(*a));
  f.runs->set_pieces(a, 3);
  EXPECT_FALSE(f.runs->is_movable(*a)) << "nobody knows where its mappings end";
  a->cut = 5;
  EXPECT_TRUE(f.runs->is_movable(*a));
  f.runs->set_pieces(a, 100);
  EXPECT_EQ(a->pieces, 8u) << "no more than it has pages";
}

TEST(RunStoreDeathTest, AuditFindsPiecesThatNobodyHas) {
  store_fixture f;
  run* const a = f.fresh(8);
  EXPECT_EQ(f.used(), 8u);
  a->pieces = 2;
  EXPECT_DEATH(static_cast<void>(f.used()), "audit");
  a->pieces = 0;
}

}  // namespace
