// Random programs on a page heap against a model, also while moves, renewals or any system call
// fail.
#include <tests/support/modelled_page_heap.hpp>
#include <tests/support/test_headers.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace test;
using modelled = modelled_page_heap;

TEST_F(PageHeap, RandomProgramsAgreeWithTheModel) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    sealable<test_space> space;
    modelled m(space);
    m.heap().supply().set_policy(
        {.delay_ms = seed == 3 ? 0 : 1000, .keep_bytes = seed == 4 ? 1 << 20 : 0u});
    if (seed == 5) m.close_behind_slabs();
    if (seed > 5) m.close_freed(seed == 6 ? closing::first : closing::always);
    for (int i = 0; i < 5000; ++i) {
      // Shrinks to nearly nothing now and then, so that everything merges.
      step(m, space, random, i / 800 % 2 == 0 ? 8000 : 500);
      if (i % 250 == 0) m.audit();
      if (HasFailure()) return;
    }
    m.audit();
    m.drop_all();
    m.heap().supply().purge_all();
    m.audit();
    EXPECT_EQ(m.heap().stats().committed_bytes, 0u);
  }
}

/// Random steps over several ranges, of which only the first stays. Up to 117 MiB are in use, in
/// pages of any size.
void run_over_several_ranges(modelled& m, sealable<test_space>& space) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 5000; ++i) {
    step(m, space, random, 30'000 * std::size_t{4096} / page_size);
    if (i % 250 == 0) m.audit();
    if (testing::Test::HasFailure()) return;
  }
  // The first range, in a gap with its tables, or reserved beside them: under sanitizers there are
  // no gaps.
  const std::size_t of_first = space.gaps() == 0 ? 2 : 1;
  EXPECT_GT(space.live_reservations(), of_first) << "the program never left the first range";
  m.drop_all();
  m.heap().supply().purge_all();
  m.audit();
  EXPECT_EQ(space.live_reservations(), of_first) << "the later ranges are empty: they must be gone";
}

TEST_F(PageHeap, RandomProgramsOverSeveralRangesAgreeWithTheModel) {
  for (const closing which : {closing::never, closing::always}) {
    sealable<test_space> space;
    space.set_limit(4 << 20);  // the first range: 1 MiB
    modelled m(space);
    m.close_freed(which);
    run_over_several_ranges(m, space);
  }
}

TEST_F(PageHeap, RandomProgramsInARoomThatSomebodyComesIntoAgreeWithTheModel) {
  run* const r = m_.new_large(500, 1);
  ASSERT_NE(r, nullptr);
  if (sizeof(void*) < 8 && space_.gaps() == 0) GTEST_SKIP() << "no addresses left for a gap";
  space_.block_claims(m_.heap().address_of(*r) + (4 << 20), std::size_t{1} << 30);
  m_.drop(r);
  run_over_several_ranges(m_, space_);
  EXPECT_EQ(space_.gaps(), 1u);
}

TEST_F(PageHeap, RandomProgramsSurviveMovesAndRenewalsThatFail) {
  std::mt19937_64 random(31);
  space_.set_refused_moves_unmap(true);
  m_.close_behind_slabs();
  for (int i = 0; i < 4000; ++i) {
    if (i == 2000) m_.close_freed(closing::always);
    space_.fail_always(space_call::close, random() % 4 == 0);
    space_.fail_always(space_call::move, random() % 2 == 0);
    space_.fail_always(space_call::renew, random() % 8 == 0);
    space_.fail_always(space_call::commit, random() % 16 == 0);
    step(m_, space_, random, 8000);
    if (i % 250 == 0) m_.audit();
    if (HasFailure()) return;
  }
  EXPECT_GT(m_.lost(), 0u);
  space_.fail_always(space_call::renew, false);
  space_.fail_always(space_call::commit, false);
  m_.drop_all();
  m_.heap().supply().purge_all();
}

/// A program that makes every kind of system call.
void fixed_program(modelled& m, sealable<test_space>& space) {
  std::mt19937_64 random(21);
  m.heap().supply().set_policy({.delay_ms = 200, .keep_bytes = 0});
  m.close_freed(random() % 2 == 0 ? closing::first : closing::always);
  bool counted = m.heap().keep_slack();
  for (int i = 0; i < 120; ++i) {
    step(m, space, random, 3000);
    if (i == 60 && !counted) counted = m.heap().keep_slack();
    if (i % 40 == 0) m.heap().supply().purge_all();
  }
  if (run* r = m.new_large(1000, 1); r != nullptr) m.resize(r, 1500);
}

/// A program of which each system call fails once, on a space whose addresses are limited so.
void fail_every_call(std::size_t limit, bool in_a_room) {
  for (const bool all_after : {false, true}) {
    for (std::uint64_t n = 1;; n += support::step(7u)) {
      SCOPED_TRACE(testing::Message() << "call " << n << (all_after ? " and later" : ""));
      sealable<test_space> space;
      space.set_limit(limit);
      modelled m(space);
      all_after ? space.fail_from(n) : space.fail_nth(n);
      fixed_program(m, space);
      m.heap().audit();
      const bool ran_out = space.calls() < n;
      space.fail_nth(0);
      for (const class_index c : {class_index{1}, class_index{9}, class_index{72}})
        EXPECT_NE(m.new_slab(c), nullptr);
      EXPECT_NE(m.new_large(3000, 8), nullptr);
      EXPECT_TRUE(m.heap().keep_slack());
      std::mt19937_64 random(n);
      run* r = m.any(random, false);
      ASSERT_NE(r, nullptr);
      char* const last = m.heap().address_of(*r) + r->pages * page_size - block_granule;
      m.heap().exchange_slack(last, 5);
      EXPECT_EQ(m.heap().exchange_slack(last, 0), 5u) << "a slack entry cannot be written";
      m.audit();
      m.drop_all();
      m.heap().supply().purge_all();
      m.audit();
      // The first range, its tables and its slack, all in the room if there is one; what is
      // lost keeps its range for good.
      if (m.lost() == 0 && (!in_a_room || space.gaps() == 1)) {
        EXPECT_EQ(space.live_reservations(), in_a_room ? 1u : 3u);
      }
      if (testing::Test::HasFailure()) return;
      if (ran_out) break;
    }
  }
}

TEST_F(PageHeap, SurvivesTheFailureOfEverySystemCall) {
  fail_every_call(4 << 20, false);  // the first range: 1 MiB, so that more are added
}

TEST_F(PageHeap, SurvivesTheFailureOfEverySystemCallInARoom) {
  fail_every_call(std::size_t{1} << 30, true);
}

}  // namespace
