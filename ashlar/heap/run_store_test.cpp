// Runs without a policy: how they are cut and merged, and what is kept behind a large block.
#include <cstddef>
#include <memory>
#include <tests/support/test_space.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/run_store.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using test::test_space;

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
  /// The same of pages that are free.
  run* again(run* r, std::size_t pages) {
    r = runs->carve(r, pages, 1);
    runs->set_kind(r, run_kind::large);
    return r;
  }
  std::size_t used() { return runs->audit("test"); }

  sealable<test_space> space;
  std::unique_ptr<run_store<test_space>> runs = std::make_unique<run_store<test_space>>(space);
};

TEST(RunStore, MergesWithNeighboursOfItsOwnKindAlone) {
  store_fixture f;
  run *const a = f.fresh(10), *const b = f.fresh(20), *const c = f.fresh(30), *const d = f.fresh(1);
  f.runs->make_dirty(a);
  f.runs->make_clean(c);
  EXPECT_EQ(f.runs->take_clean(31), nullptr);
  f.runs->make_dirty(b);
  EXPECT_EQ(f.runs->dirty_pages(), 30u);
  EXPECT_EQ(f.runs->take_dirty(31), nullptr) << "clean pages are not called dirty";
  run* const r = f.runs->take_dirty(30);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->pages, 30u);
  f.runs->make_clean(r);
  EXPECT_EQ(f.used(), 1u);
  EXPECT_NE(f.runs->take_clean(60), nullptr) << "now all of them are one";
  f.runs->set_kind(d, run_kind::large);
}

TEST(RunStore, WhatIsLeftOfACutIsFreeAsItWas) {
  store_fixture f;
  run* const a = f.fresh(64);
  f.fresh(1);
  f.runs->make_dirty(a);
  run* const r = f.again(f.runs->take_dirty(64), 5);
  EXPECT_FALSE(r->zero);
  EXPECT_EQ(f.runs->dirty_pages(), 59u);
  EXPECT_EQ(f.used(), 6u);
}

TEST(RunStore, HeadroomIsTheBlocksUntilItEndsOrOthersNeedIt) {
  store_fixture f;
  run *const a = f.fresh(8), *const b = f.fresh(40);
  f.fresh(1);
  f.runs->make_clean(b);
  f.runs->keep_headroom(*a, 16);
  EXPECT_EQ(f.runs->headroom_pages(), 16u);
  EXPECT_EQ(f.runs->take_clean(25), nullptr) << "the headroom is nobody else's";
  EXPECT_EQ(f.used(), 9u);
  run* const all = f.runs->take_from_headrooms(40, SIZE_MAX);
  ASSERT_NE(all, nullptr) << "it merged with what was left";
  EXPECT_EQ(f.runs->headroom_pages(), 0u);
  f.runs->make_clean(all);
  f.runs->keep_headroom(*a, 16);
  f.runs->end_headroom(*a);
  EXPECT_EQ(f.runs->headroom_pages(), 0u);
  EXPECT_EQ(f.used(), 9u);
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

TEST(RunStore, ABlockGrowsIntoFreePagesAndTheRangesTop) {
  store_fixture f;
  run *const a = f.fresh(8), *const b = f.fresh(4), *const c = f.fresh(4);
  EXPECT_FALSE(f.runs->free_behind(*a, 1).enough) << "another block is there";
  f.runs->make_dirty(b);
  EXPECT_FALSE(f.runs->free_behind(*a, 5).enough);
  f.runs->make_clean(c);
  const auto behind = f.runs->free_behind(*a, 20);
  EXPECT_TRUE(behind.enough);
  EXPECT_EQ(behind.dirty, 4u);
  EXPECT_EQ(behind.fresh, 12u);
  f.space.refuse_memory(true);
  EXPECT_FALSE(f.runs->extend(a, 4000, f.runs->free_behind(*a, 4000))) << "the range ends";
  EXPECT_EQ(a->pages, 8u);
  f.space.refuse_memory(false);
  EXPECT_TRUE(f.runs->extend(a, 20, behind));
  EXPECT_EQ(a->pages, 28u);
  EXPECT_EQ(f.used(), 28u);
  EXPECT_EQ(f.runs->dirty_pages(), 0u);
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
