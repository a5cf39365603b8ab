#include <tests/support/test_headers.hpp>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exact_divisor.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/guard_bytes.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/policy.hpp>

namespace {

using namespace ashlar;

// A policy that is off is an empty class, so that [[no_unique_address]] makes it nothing.
template <class... Policies>
constexpr bool all_empty = (std::is_empty_v<Policies> && ...);
static_assert(all_empty<no_lock, check::none, check::cheap, counting::none, counting::exact,
                        detail::no_counters, exhaustion::null, exhaustion::stop, unnamed,
                        exhaustion::throw_bad_alloc, exhaustion::handler_and_retry<>, named<"x">>);

static_assert(at_death::stop::stops && at_death::stop::reports && !at_death::stop::destroys);
static_assert(at_death::report::reports && !at_death::report::stops);
static_assert(at_death::destroy::destroys && !at_death::destroy::reports);
static_assert(!at_death::ignore::reports && !at_death::ignore::destroys);

// A loan that must be told the size does not go back by its address.
struct told_the_size {
  void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};
struct knows_the_size : told_the_size {
  using told_the_size::deallocate;
  void deallocate(void*) noexcept {}
};
static_assert(!returns_by_address<exhaustion::upstream<told_the_size>>);
static_assert(returns_by_address<exhaustion::upstream<knows_the_size>>);
static_assert(exhaustion_policy<exhaustion::upstream<knows_the_size>>);

static_assert(std::is_same_v<pick_policy<lock_kind, no_lock>, no_lock>);
static_assert(std::is_same_v<pick_policy<lock_kind, no_lock, check::none, std::mutex>, std::mutex>);
static_assert(
    std::is_same_v<pick_policy<check_kind, check::cheap, check::none, std::mutex>, check::none>);

// ---- exact_divisor: every 16-bit divisor that matters against every 16-bit number ----

TEST(ExactDivisor, AgreesWithDivisionForAllSixteenBitNumbers) {
  for (unsigned d = 1; d < 0x10000; d += (d < 300 ? 1u : 257u) * support::step(7u)) {
    const detail::exact_divisor<std::uint16_t> divisor(static_cast<std::uint16_t>(d));
    const unsigned most = 0xffff / d;
    for (unsigned n = 0; n < 0x10000; ++n) {
      const unsigned q = divisor.quotient(static_cast<std::uint16_t>(n));
      if (n % d == 0) {
        ASSERT_EQ(q, n / d);
      } else {
        ASSERT_GT(q, most) << n << " / " << d;
      }
    }
  }
}

// ---- locks ----

struct fake_port {
  static inline unsigned mask = 0;  // 0: enabled
  static unsigned save_and_disable() noexcept { return std::exchange(mask, 1u); }
  static void restore(unsigned state) noexcept { mask = state; }
};

TEST(InterruptMask, RestoresWhatItFoundAlsoWhereLocksNest) {
  interrupt_mask<fake_port> a, b;
  for (const unsigned before : {0u, 1u}) {
    fake_port::mask = before;
    a.lock();
    b.lock();
    b.unlock();
    EXPECT_EQ(fake_port::mask, 1u) << "the inner lock must not enable what the outer one masked";
    a.unlock();
    EXPECT_EQ(fake_port::mask, before) << "interrupts must not be enabled blindly";
  }
}

// That it excludes others, in every order: tests/interleave.
TEST(SpinLock, IsReleasedByAThrow) {
  spin_lock lock;
  try {
    const detail::scoped_lock guard(lock);
    throw 1;
  } catch (int) {
  }
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
}

// ---- exhaustion ----

constexpr exhaustion_request some_request{32, 16, "sensor"};

TEST(Exhaustion, CountedCountsWhateverFollows) {
  const auto nothing = []() noexcept -> void* { return nullptr; };
  exhaustion::counted<> silent;
  static_assert(silent.nothrow && silent.may_return_null && !silent.borrows);
  EXPECT_EQ(silent.exhausted(some_request, nothing), nullptr);
  EXPECT_EQ(silent.exhausted(some_request, nothing), nullptr);
  EXPECT_EQ(silent.failure_count, 2u);
  exhaustion::counted<exhaustion::throw_bad_alloc> loud;
  EXPECT_THROW(loud.exhausted(some_request, nothing), std::bad_alloc);
  EXPECT_EQ(loud.failure_count, 1u);
}

int handler_calls = 0;

TEST(Exhaustion, HandlerIsCalledUntilARetrySucceeds) {
  exhaustion::handler_and_retry<exhaustion::null, exhaustion::own_handler> policy;
  policy.source.handler = [] { ++handler_calls; };
  handler_calls = 0;
  int block = 0;
  void* p = policy.exhausted(some_request,
                             [&]() -> void* { return handler_calls == 3 ? &block : nullptr; });
  EXPECT_EQ(p, &block);
  EXPECT_EQ(handler_calls, 3);
}

TEST(Exhaustion, WithoutAHandlerTheNextPolicyDecides) {
  exhaustion::handler_and_retry<> gives_null;
  ASSERT_EQ(std::get_new_handler(), nullptr);
  EXPECT_EQ(gives_null.exhausted(some_request, [] { return nullptr; }), nullptr);
  exhaustion::handler_and_retry<exhaustion::throw_bad_alloc> throws;
  EXPECT_THROW(throws.exhausted(some_request, [] { return nullptr; }), std::bad_alloc);
}

// ---- check: bytes ----

TEST(CheckBytes, ACanaryDependsOnItsAddress) {
  std::byte a[16], b[16];
  detail::write_canary(a, 16);
  detail::write_canary(b, 16);
  EXPECT_TRUE(detail::canary_intact(a, 16));
  __builtin_memcpy(a, b, 16);
  EXPECT_FALSE(detail::canary_intact(a, 16));
}

TEST(Quarantine, IsFirstInFirstOut) {
  std::byte blocks[10];
  detail::quarantine<4> q;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(q.push(&blocks[i]), nullptr);
  for (int i = 4; i < 10; ++i) EXPECT_EQ(q.push(&blocks[i]), &blocks[i - 4]);
  EXPECT_EQ(q.size(), 4u);
  for (int i = 6; i < 10; ++i) EXPECT_EQ(q.pop(), &blocks[i]);
  EXPECT_EQ(q.pop(), nullptr);
  detail::quarantine<0> none;
  EXPECT_EQ(none.push(&blocks[0]), &blocks[0]);
  EXPECT_EQ(none.pop(), nullptr);
}

// ---- counting ----

TEST(Counting, InUseSurvivesTheWrapOfTheCounters) {
  detail::call_counters c;
  c.allocations = SIZE_MAX;
  c.frees = SIZE_MAX - 2;
  c.allocated();
  EXPECT_EQ(c.in_use(), 3u);
}

TEST(Counting, PeaksAreKept) {
  detail::peak_counters plain;
  detail::atomic_counters shared;
  for (int i = 0; i < 5; ++i) plain.allocated(), shared.allocated();
  for (int i = 0; i < 3; ++i) plain.freed(), shared.freed();
  plain.allocated(), shared.allocated();
  EXPECT_EQ(plain.peak(), 5u);
  EXPECT_EQ(shared.peak(), 5u);
  EXPECT_EQ(plain.in_use(), 3u);
  EXPECT_EQ(shared.in_use(), 3u);
}

}  // namespace
