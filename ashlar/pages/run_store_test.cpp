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
// Random programs against a multimap from length to run.

using model = std::multimap<std::size_t, run*>;

constexpr std::size_t exact_max = 32;  // lengths up to here are told apart
constexpr std::size_t looked_at = 16;  // runs of a shared bin that a search looks at

std::uint32_t random_length(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
    case 1:
      return static_cast<std::uint32_t>(1 + random() % 48);
    case 2:
      return static_cast<std::uint32_t>(1 + random() % 5000);
    default:
      return static_cast<std::uint32_t>(1 + (random() >> (33 + random() % 30)));
  }
}

void check_find(const run_bins& bins, const model& runs, std::size_t pages) {
  const run* found = bins.find(pages);
  const auto best = runs.lower_bound(pages);
  // What may share the bin of `pages`: a bin is at most an eighth of its lengths wide.
  const auto neighbours =
      std::distance(runs.lower_bound(pages - pages / 8), runs.upper_bound(pages + pages / 8));
  if (found == nullptr) {
    if (best == runs.end()) return;
    ASSERT_GT(pages, exact_max) << "a run of " << best->first << " was not found";
    ASSERT_LE(std::prev(runs.end())->first, pages + pages / 8) << "a longer bin was not searched";
    ASSERT_GT(neighbours, static_cast<std::ptrdiff_t>(looked_at));
    return;
  }
  ASSERT_GE(found->pages, pages);
  ASSERT_NE(best, runs.end());
  const auto [first, last] = runs.equal_range(found->pages);
  ASSERT_TRUE(std::any_of(first, last, [found](const auto& e) { return e.second == found; }))
      << "a run was found that is in no bin";
  if (best->first <= exact_max) {
    ASSERT_EQ(found->pages, best->first);
  } else if (neighbours <= static_cast<std::ptrdiff_t>(looked_at)) {
    ASSERT_LE(found->pages, best->first + best->first / 8) << "not the least bin that fits";
  }
}

TEST(RunBins, AgreeWithAModelOverRandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<run> records(400);
    std::vector<run*> spare;
    for (run& r : records) spare.push_back(&r);
    run_bins bins;
    model runs;
    std::size_t pages = 0;
    for (int step = 0; step < 6000; ++step) {
      // Phases of growing and of shrinking, so that bins get long and get empty.
      const bool grows = random() % 8 < (step / 1000 % 2 == 0 ? 5u : 2u);
      if (grows && !spare.empty()) {
        run* r = spare.back();
        spare.pop_back();
        r->pages = random_length(random);
        bins.insert(r);
        runs.emplace(r->pages, r);
        pages += r->pages;
      } else if (!runs.empty()) {
        const auto victim = std::next(runs.begin(), static_cast<long>(random() % runs.size()));
        bins.remove(victim->second);
        pages -= victim->first;
        spare.push_back(victim->second);
        runs.erase(victim);
      }
      ASSERT_EQ(bins.pages(), pages);
      check_find(bins, runs, random_length(random));
      if (!runs.empty()) check_find(bins, runs, std::prev(runs.end())->first);
      if (HasFatalFailure()) return;
    }
  }
}

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

TEST(RunBins, AVisitSeesEachRunOnceAndLetsItBeRemoved) {
  std::vector<run> records(200);
  run_bins bins;
  std::mt19937_64 random(3);
  for (run& r : records) {
    r.pages = random_length(random);
    bins.insert(&r);
  }
  std::set<run*> seen;
  EXPECT_EQ(bins.visit_from(0,
                            [&](run* r) {
                              EXPECT_TRUE(seen.insert(r).second);
                              if (seen.size() % 2 == 0) bins.remove(r);
                              return true;
                            }),
            run_bins::bins_end);
  EXPECT_EQ(seen.size(), records.size());
  std::size_t left = 0;
  bins.visit_from(0, [&](run* r) {
    ++left;
    bins.remove(r);
    return true;
  });
  EXPECT_EQ(left, records.size() / 2);
  EXPECT_EQ(bins.pages(), 0u);
  EXPECT_EQ(bins.find(1), nullptr);
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
