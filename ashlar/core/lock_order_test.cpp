// Needs POSIX.

#include <tests/support/test_headers.hpp>

#include <ashlar/core/lock_order.hpp>

// Locks that look at the order, in threads and in a heap: runtime/held_locks_test.cpp.
namespace {

using namespace ashlar::detail;

const char places[2] = {};
const void* const one = &places[0];
const void* const other = &places[1];  // at a higher address

lock_rank rank_of(std::size_t number) { return static_cast<lock_rank>(number); }
std::string fault_of(lock_rank taken, lock_rank held) {
  return std::string("ashlar: lock ") + name_of(taken) + " while holding " + name_of(held) +
         "\\(0x[0-9a-f]+\\): an internal invariant does not hold";
}

TEST(HeldLocks, AnyHigherRankMayBeTaken) {
  for (std::size_t low = 0; low < lock_ranks; ++low) {
    held_locks held;
    held.taken(rank_of(low), one);
    for (std::size_t high = low + 1; high < lock_ranks; ++high)
      held.expect_may_take(rank_of(high), other);
  }
}

TEST(HeldLocks, NoLowerOrEqualRankMay) {
  for (std::size_t n = 0; n < lock_ranks; ++n) {
    const lock_rank rank = rank_of(n);
    held_locks held;
    held.taken(rank, other);
    EXPECT_DEATH(held.expect_may_take(rank, one), fault_of(rank, rank));
    if (n == 0) continue;
    EXPECT_DEATH(held.expect_may_take(rank_of(n - 1), one), fault_of(rank_of(n - 1), rank));
    EXPECT_DEATH(held.expect_may_take(rank_of(0), one), fault_of(rank_of(0), rank));
  }
}

TEST(HeldLocks, ClassesAreTakenInOrderOfTheirAddresses) {
  held_locks held;
  held.taken(lock_rank::central, one);
  held.expect_may_take(lock_rank::central, other);
  EXPECT_DEATH(held.expect_may_take(lock_rank::central, one),
               fault_of(lock_rank::central, lock_rank::central));
  held.taken(lock_rank::central, other);
  EXPECT_DEATH(held.expect_may_take(lock_rank::central, one),
               fault_of(lock_rank::central, lock_rank::central));
}

TEST(HeldLocks, AnOpenedLockIsForgottenInAnyOrder) {
  held_locks held;
  held.taken(lock_rank::caches, one);
  held.taken(lock_rank::pages, other);
  held.opened(lock_rank::caches, one);
  EXPECT_DEATH(held.expect_may_take(lock_rank::caches, one),
               fault_of(lock_rank::caches, lock_rank::pages));
  held.opened(lock_rank::pages, other);
  held.expect_may_take(lock_rank::heap_lives, one);
}

TEST(HeldLocks, TheUnlockOfAnotherThreadsLockChangesNothing) {
  held_locks held;
  held.opened(lock_rank::pages, one);
  held.taken(lock_rank::pages, one);
  held.opened(lock_rank::pages, other);
  EXPECT_DEATH(held.expect_may_take(lock_rank::pages, other),
               fault_of(lock_rank::pages, lock_rank::pages));
}

TEST(HeldLocks, InAnInnerLevelTheOrderBeginsAnewButHeapsStay) {
  held_locks held;
  held.inner_level().expect_may_take(lock_rank::heap_lives, one);
  held.taken(lock_rank::pages, one);
  held_locks inner = held.inner_level();
  inner.expect_may_take(lock_rank::caches, other);
  for (const held_locks& level : {inner, inner.inner_level()})
    EXPECT_DEATH(level.expect_may_take(lock_rank::heap_lives, other),
                 "lock heap_lives while holding a heap's lock");
}

}  // namespace
