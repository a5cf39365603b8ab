#include <tests/support/test_headers.hpp>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exact_divisor.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/free_list.hpp>
#include <ashlar/core/guard_bytes.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/tagged_stack.hpp>

namespace {

using namespace ashlar;

// A policy that is off is an empty class, so that [[no_unique_address]] makes it nothing.
static_assert(std::is_empty_v<no_lock>);
static_assert(std::is_empty_v<check::none> && std::is_empty_v<check::cheap>);
static_assert(std::is_empty_v<counting::none> && std::is_empty_v<counting::exact>);
static_assert(std::is_empty_v<detail::no_counters>);
static_assert(std::is_empty_v<exhaustion::null> && std::is_empty_v<exhaustion::stop>);
static_assert(std::is_empty_v<exhaustion::throw_bad_alloc>);
static_assert(std::is_empty_v<exhaustion::handler_and_retry<>>);
static_assert(std::is_empty_v<unnamed> && std::is_empty_v<named<"sensor">>);

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

TEST(ExactDivisor, RejectsAddressesBelowTheBaseAndBetweenBlocks) {
  for (std::size_t stride : {8u, 16u, 24u, 40u, 48u, 104u, 1000u, 4096u}) {
    const detail::exact_divisor<> divisor(stride);
    const std::size_t count = 1000;
    for (std::size_t n = 0; n < count * stride; ++n) {
      ASSERT_EQ(divisor.quotient(n) < count, n % stride == 0);
      ASSERT_GE(divisor.quotient(std::size_t{0} - 1 - n), count);
    }
  }
}

// ---- free_list ----

TEST(FreeList, IsLastInFirstOut) {
  alignas(void*) std::byte blocks[8][sizeof(void*)];
  detail::free_list list;
  EXPECT_EQ(list.pop(), nullptr);
  for (auto& b : blocks) list.push(b);
  for (int i = 7; i >= 0; --i) EXPECT_EQ(list.pop(), blocks[i]);
  EXPECT_EQ(list.pop(), nullptr);
}

// ---- tagged_stack ----

template <class Word>
class TaggedStack : public testing::Test {};
using words = testing::Types<std::uint64_t, std::uint32_t>;
TYPED_TEST_SUITE(TaggedStack, words);

TYPED_TEST(TaggedStack, IsLastInFirstOut) {
  detail::tagged_stack<TypeParam> stack;
  using index = typename detail::tagged_stack<TypeParam>::index_type;
  index links[100];
  EXPECT_EQ(stack.pop(links), stack.none);
  for (index i = 0; i < 100; ++i) stack.push(links, i);
  for (int i = 99; i >= 0; --i) EXPECT_EQ(stack.pop(links), i);
  EXPECT_EQ(stack.pop(links), stack.none);
}

// The ABA problem, step by step: a caller reads head (block 0, block 1 below) and is interrupted;
// another pops 0 and 1 and pushes 0. The first caller's compare-and-swap would now make block 1,
// which is in use, the top. `Stack` hands the steps out one by one.
struct untagged_stack {
  std::atomic<std::uint32_t> head{0};
  std::uint32_t links[2]{};
  void push(std::uint32_t i) {
    links[i] = head.load();
    head.store(i + 1);
  }
  std::uint32_t pop() {
    const std::uint32_t i = head.load() - 1;
    head.store(links[i]);
    return i;
  }
};

TEST(TaggedStackAba, AnUntaggedStackHandsOneBlockToTwoOwners) {
  untagged_stack s;
  s.push(1);
  s.push(0);
  std::uint32_t seen = s.head.load();
  const std::uint32_t below = s.links[seen - 1];  // interrupted here
  EXPECT_EQ(s.pop(), 0u);
  EXPECT_EQ(s.pop(), 1u);
  s.push(0);
  EXPECT_TRUE(s.head.compare_exchange_strong(seen, below));
  EXPECT_EQ(s.pop(), 1u);  // has an owner already
}

// The same with the real stack: the word at the start differs from the word after the same three
// steps, so the interrupted compare-and-swap must fail.
TEST(TaggedStackAba, TheTagMakesTheSameTopAnotherWord) {
  struct open_stack {
    detail::tagged_stack<std::uint32_t> stack;
    std::uint32_t word() const {
      std::uint32_t w;
      static_assert(sizeof(stack) == sizeof(w));
      __builtin_memcpy(&w, &stack, sizeof(w));
      return w;
    }
  } s;
  std::uint16_t links[2];
  s.stack.push(links, 1);
  s.stack.push(links, 0);
  const std::uint32_t seen = s.word();
  EXPECT_EQ(s.stack.pop(links), 0);
  EXPECT_EQ(s.stack.pop(links), 1);
  s.stack.push(links, 0);
  EXPECT_EQ(s.word() & 0xffff, seen & 0xffff);
  EXPECT_NE(s.word(), seen);
}

TYPED_TEST(TaggedStack, ThreadsNeverShareAnIndex) {
  constexpr int threads = 3, indices = 4, rounds = 20'000;
  detail::tagged_stack<TypeParam> stack;
  using index = typename detail::tagged_stack<TypeParam>::index_type;
  index links[indices];
  std::atomic<int> owners[indices] = {};
  std::atomic<int> clashes{0};
  for (index i = 0; i < indices; ++i) stack.push(links, i);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&] {
      for (int r = 0; r < rounds; ++r) {
        const index i = stack.pop(links);
        if (i == stack.none) continue;
        if (owners[i].fetch_add(1) != 0) ++clashes;
        owners[i].fetch_sub(1);
        stack.push(links, i);
      }
    });
  }
  for (auto& t : pool) t.join();
  EXPECT_EQ(clashes, 0);
  std::set<index> seen;
  for (int i = 0; i < indices; ++i) seen.insert(stack.pop(links));
  EXPECT_EQ(seen.size(), std::size_t{indices});
  EXPECT_EQ(stack.pop(links), stack.none);
}

// ---- locks ----

struct fake_port {
  static inline unsigned mask = 0;  // 0: enabled
  static inline std::vector<char> calls;
  static unsigned save_and_disable() noexcept {
    calls.push_back('d');
    const unsigned was = mask;
    mask = 1;
    return was;
  }
  static void restore(unsigned state) noexcept {
    calls.push_back('r');
    mask = state;
  }
};

TEST(InterruptMask, RestoresWhatItFound) {
  interrupt_mask<fake_port> lock;
  for (unsigned before : {0u, 1u}) {
    fake_port::mask = before;
    {
      const detail::scoped_lock guard(lock);
      EXPECT_EQ(fake_port::mask, 1u);
    }
    EXPECT_EQ(fake_port::mask, before) << "interrupts must not be enabled blindly";
  }
}

TEST(InterruptMask, NestsAcrossLocks) {
  interrupt_mask<fake_port> a, b;
  fake_port::mask = 0;
  a.lock();
  b.lock();
  b.unlock();
  EXPECT_EQ(fake_port::mask, 1u) << "the inner lock must not enable what the outer one masked";
  a.unlock();
  EXPECT_EQ(fake_port::mask, 0u);
}

TEST(SpinLock, ExcludesAndIsReleasedByAThrow) {
  spin_lock lock;
  try {
    const detail::scoped_lock guard(lock);
    throw 1;
  } catch (int) {
  }
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();

  long count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const detail::scoped_lock guard(lock);
        ++count;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(count, 40'000);
}

// ---- exhaustion ----

constexpr exhaustion_request some_request{32, 16, "sensor"};

TEST(Exhaustion, NullIsNull) {
  exhaustion::null policy;
  EXPECT_EQ(policy.exhausted(some_request, [] { return nullptr; }), nullptr);
}

TEST(Exhaustion, ThrowsBadAlloc) {
  exhaustion::throw_bad_alloc policy;
  EXPECT_THROW(policy.exhausted(some_request, [] { return nullptr; }), std::bad_alloc);
}

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

TEST(ExhaustionDeathTest, StopNamesThePool) {
  exhaustion::stop policy;
  EXPECT_DEATH(policy.exhausted(some_request, [] { return nullptr; }), "out of memory.*sensor");
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

TEST(Exhaustion, AHandlerMayRemoveItself) {
  handler_calls = 0;
  std::set_new_handler([] {
    ++handler_calls;
    std::set_new_handler(nullptr);
  });
  exhaustion::handler_and_retry<> policy;
  EXPECT_EQ(policy.exhausted(some_request, [] { return nullptr; }), nullptr);
  EXPECT_EQ(handler_calls, 1);
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

TEST(CheckBytes, EverySingleChangedByteIsSeen) {
  std::byte a[32];
  for (int at = 0; at < 32; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      detail::write_canary(a, 32);
      a[at] ^= std::byte(1u << bit);
      EXPECT_FALSE(detail::canary_intact(a, 32));
      detail::fill_bytes(a, 32, detail::freed_fill);
      a[at] ^= std::byte(1u << bit);
      EXPECT_FALSE(detail::bytes_are(a, 32, detail::freed_fill));
    }
  }
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
