// The process heap as a standard allocator.
#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <tests/support/model_heap.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/component_allocator.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

using ashlar::allocator;

template <class T, std::size_t Alignment>
struct alignas(Alignment) aligned {
  T value;
};

template <class Check>
struct CheckedAllocator : testing::Test {};
using Checks = testing::Types<ashlar::check::cheap, ashlar::check::none>;
TYPED_TEST_SUITE(CheckedAllocator, Checks);

TYPED_TEST(CheckedAllocator, MeetsTheRequirements) {
  support::check_allocator(allocator<int, TypeParam>());
  support::check_allocator(allocator<char, TypeParam>());
  support::check_allocator(allocator<support::cache_line, TypeParam>());
  support::check_allocator(allocator<aligned<int, 4096>, TypeParam>());
#if !defined(_WIN32)  // its format of programs knows no more than 8192
  support::check_allocator(allocator<aligned<int, 16384>, TypeParam>());
#endif
  support::check_incomplete_type(allocator<int, TypeParam>());
  static_assert(std::is_empty_v<allocator<int, TypeParam>>);
  static_assert(std::allocator_traits<allocator<int, TypeParam>>::is_always_equal::value);
  static_assert(sizeof(std::vector<int, allocator<int, TypeParam>>) == sizeof(std::vector<int>));
}

TYPED_TEST(CheckedAllocator, RunsEveryContainer) {
  constexpr bool usual = std::is_same_v<TypeParam, ashlar::check::cheap>;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    support::run_containers<usual ? support::extent::full : support::extent::brief>(
        allocator<int, TypeParam>(), seed);
  }
}

constexpr int in_a_constant_expression() {
  allocator<int> a;
  int* const p = a.allocate(3);
  std::construct_at(p, 41);
  const int v = *p + 1;
  a.deallocate(p, 3);
  const auto more = a.allocate_at_least(5);
  const bool right = more.count == 5;
  a.deallocate(more.ptr, more.count);
  return right ? v : 0;
}
static_assert(in_a_constant_expression() == 42);

// Every size that the block has room for, and what comes back is what deallocate takes.
template <class T, class Check>
void check_at_least() {
  allocator<T, Check> a;
  for (const std::size_t n : {1u, 2u, 3u, 7u, 33u, 100u, 1000u, 5000u, 20000u}) {
    auto got = a.allocate_at_least(n);
    ASSERT_GE(got.count, n);
    std::size_t usable = xusable_size(got.ptr);
    EXPECT_EQ(got.count, usable / sizeof(T));
    std::memset(static_cast<void*>(got.ptr), 1, got.count * sizeof(T));
    for (const std::size_t told : {n, n + (got.count - n) / 2, got.count}) {
      a.deallocate(got.ptr, told);
      got = a.allocate_at_least(n);
      EXPECT_EQ(xusable_size(got.ptr), usable);
    }
    a.deallocate(got.ptr, n);
  }
}
TYPED_TEST(CheckedAllocator, AtLeastTellsWhatFits) {
  check_at_least<char, TypeParam>();
  check_at_least<int, TypeParam>();
  check_at_least<aligned<char, 32>, TypeParam>();
  check_at_least<support::odd_triple, TypeParam>();
  check_at_least<aligned<char, 4096>, TypeParam>();
}

TYPED_TEST(CheckedAllocator, IsXmallocsKin) {
  allocator<long, TypeParam> a;
  xfree(a.allocate(5));
  a.deallocate(static_cast<long*>(xmalloc(5 * sizeof(long))), 5);
}

// ---- what goes wrong ----------------------------------------------------------------------------

TEST(Allocator, AsksTheNewHandlerBeforeItGivesUp) {
  static int asked;
  asked = 0;
  const std::new_handler before = std::set_new_handler([] {
    if (++asked == 3) std::set_new_handler(nullptr);
  });
  EXPECT_THROW(static_cast<void>(allocator<char>().allocate(SIZE_MAX / 2 + 1)), std::bad_alloc);
  std::set_new_handler(before);
  EXPECT_EQ(asked, 3);
}

TEST(Allocator, LengthsThatOverflowAreNotAskedFor) {
  static bool asked;
  asked = false;
  const std::new_handler before = std::set_new_handler([] { asked = true; });
  EXPECT_THROW(static_cast<void>(allocator<int>().allocate(SIZE_MAX / sizeof(int) + 1)),
               std::bad_array_new_length);
  EXPECT_THROW(static_cast<void>(allocator<int>().allocate_at_least(SIZE_MAX)),
               std::bad_array_new_length);
  std::set_new_handler(before);
  EXPECT_FALSE(asked);
}

struct counts_at_death : testing::Test {
  counts_at_death() { GTEST_FLAG_SET(death_test_style, "fast"); }
};
using AllocatorDeathTest = counts_at_death;

TEST_F(AllocatorDeathTest, AWrongLengthIsAFault) {
  allocator<int> a;
  int* const p = a.allocate(100);
  EXPECT_DEATH(a.deallocate(p, 10), "allocator::deallocate.*size or alignment");
  EXPECT_DEATH(a.deallocate(p, 1000), "allocator::deallocate.*size or alignment");
  EXPECT_DEATH(a.deallocate(p, 100'000), "allocator::deallocate.*size or alignment");
  a.deallocate(p, 100);
  int* const large = a.allocate(100'000);
  EXPECT_DEATH(a.deallocate(large, 1), "allocator::deallocate.*size or alignment");
  EXPECT_DEATH(a.deallocate(large, 50'000), "allocator::deallocate.*size or alignment");
  a.deallocate(large, 100'000);
  allocator<support::cache_line> lines;
  support::cache_line* const line = lines.allocate(1);
  EXPECT_DEATH(lines.deallocate(line, 3), "allocator::deallocate.*size or alignment");
  lines.deallocate(line, 1);
}
TEST_F(AllocatorDeathTest, AWrongLengthIsAFaultWhereTheHitPathHasRoomForIt) {
  allocator<int> a;
  int* const p = a.allocate(20);     // 80 bytes, and 64 below: their marks look alike
  a.deallocate(a.allocate(16), 16);  // so the stack of the wrong class is open, and not full
  EXPECT_DEATH(a.deallocate(p, 16), "allocator::deallocate.*size or alignment");
  a.deallocate(p, 20);
}

// ---- component_allocator ------------------------------------------------------------------------
// Pools, pool sets and sized components as standard allocators.

using namespace ashlar;
using support::model_heap;

using grown_pool = fixed_pool<process_source>;
using set_of_pools =
    pool_set<blocks<32, 400>, blocks<64, 800>, blocks<256, 200>, blocks<1024, 20>, process_source>;

template <class T>
using over_model = component_allocator<T, model_heap>;
template <class T>
using over_pool = pool_allocator<T, grown_pool, process_source>;
template <class T>
using over_set = pool_allocator<T, set_of_pools, process_source>;

static_assert(sized_component<model_heap> && !block_component<model_heap>);
static_assert(!bounded_component<model_heap>);
static_assert(block_component<grown_pool> && block_component<static_pool<long, 3>>);
static_assert(bounded_component<set_of_pools>);
static_assert(page_source<process_source> && page_source<no_upstream>);
static_assert(page_source<source_ref<model_heap>> && page_source<source_ref<process_source>>);

// One address; the upstream costs a byte only if it has a state.
static_assert(sizeof(over_model<int>) == sizeof(void*) && sizeof(over_pool<int>) == sizeof(void*));
static_assert(sizeof(pool_allocator<int, grown_pool, source_ref<model_heap>>) == 2 * sizeof(void*));

/// Effects: what the standard asks of allocators of the two components, which differ.
template <template <class> class Allocator, class Component>
void meets_the_requirements(Component& one, Component& two) {
  const Allocator<int> a(one), b(two);
  support::check_allocator(a, &b);
  support::check_incomplete_type(a);
  support::check_propagation(a, b);
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    support::run_containers<support::extent::brief>(a, seed);
}

TEST(ComponentAllocator, MeetsTheRequirementsAndRunsEveryContainer) {
  model_heap heap, other_heap;
  meets_the_requirements<over_model>(heap, other_heap);
  support::check_allocator(over_model<support::cache_line>(heap));
  EXPECT_EQ(heap.live_blocks() + other_heap.live_blocks(), 0u);
  grown_pool pool(block_layout{48, 16}, heap_blocks{}), other_pool({48, 16}, heap_blocks{});
  meets_the_requirements<over_pool>(pool, other_pool);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
  EXPECT_GT(pool.stats().allocations, 0u);
  set_of_pools set, other_set;
  meets_the_requirements<over_set>(set, other_set);
  EXPECT_EQ(set.stats().blocks_in_use(), 0u);
  EXPECT_TRUE(pool.audit() && set.audit());
}

// ---- who serves what ----------------------------------------------------------------------------

TEST(ComponentAllocator, APoolServesWhatFitsABlock) {
  static_pool<char[64], 2> pool;
  pool_allocator<int, decltype(pool)> a(pool);
  int* const whole = a.allocate(16);
  int* const part = a.allocate(3);
  EXPECT_TRUE(pool.owns(whole) && pool.owns(part));
  EXPECT_THROW(static_cast<void>(a.allocate(1)), std::bad_alloc) << "the pool is empty";
  a.deallocate(whole, 16);
  EXPECT_THROW(static_cast<void>(a.allocate(17)), std::bad_alloc) << "it fits no block";
  a.deallocate(part, 3);
  pool_allocator<support::cache_line, decltype(pool)> lines(a);
  EXPECT_THROW(static_cast<void>(lines.allocate(1)), std::bad_alloc) << "it is more aligned";
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(ComponentAllocator, TheUpstreamServesTheRestAndOnlyThat) {
  static_pool<char[64], 2> pool;
  model_heap upstream;
  using source = source_ref<model_heap>;
  pool_allocator<int, decltype(pool), source> a(pool, source(upstream));
  int* const small = a.allocate(16);
  int* const large = a.allocate(17);
  EXPECT_TRUE(pool.owns(small) && upstream.owns(large));
  static_cast<void>(a.allocate(1));
  EXPECT_THROW(static_cast<void>(a.allocate(1)), std::bad_alloc)
      << "an empty pool is its policy's matter";
  EXPECT_EQ(upstream.live_blocks(), 1u);
  a.deallocate(large, 17);
  a.deallocate(small, 16);
  EXPECT_EQ(upstream.live_blocks(), 0u);

  model_heap other;
  EXPECT_NE(a, (pool_allocator<int, decltype(pool), source>(pool, source(other))));
  EXPECT_EQ(a, (pool_allocator<long, decltype(pool), source>(pool, source(upstream))));
}

struct empty_now {};
TEST(ComponentAllocator, AnEmptyPoolAsksItsOwnPolicy) {
  static int asked;
  asked = 0;
  using policy = exhaustion::handler_and_retry<exhaustion::null, exhaustion::own_handler>;
  static_pool<long, 1, policy> pool(policy{.source = {[] {
                                             if (++asked == 2) throw empty_now();
                                           }},
                                           .then = {}});
  pool_allocator<long, decltype(pool)> a(pool);
  long* const p = a.allocate(1);
  EXPECT_THROW(static_cast<void>(a.allocate(1)), empty_now);
  EXPECT_EQ(asked, 2);
  a.deallocate(p, 1);
}

}  // namespace
