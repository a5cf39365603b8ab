// Pools, pool sets and sized components as standard allocators.
#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <tests/support/model_heap.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/adapt/component_allocator.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/pool/fixed_pool.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

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

TEST(ComponentAllocator, MeetsTheRequirementsOverASizedComponent) {
  model_heap one(1 << 20);
  model_heap two;
  const over_model<int> a(one);
  const over_model<int> b(two);
  support::check_allocator(a, &b);
  support::check_allocator(over_model<support::cache_line>(one));
  support::check_incomplete_type(a);
  support::check_propagation(a, b);
}

TEST(ComponentAllocator, MeetsTheRequirementsOverAPool) {
  grown_pool one(block_layout{48, 16}, heap_blocks{});
  grown_pool two(block_layout{48, 16}, heap_blocks{});
  const over_pool<int> a(one);
  const over_pool<int> b(two);
  support::check_allocator(a, &b);
  support::check_incomplete_type(a);
  support::check_propagation(a, b);
  EXPECT_EQ(one.stats().blocks_in_use, 0u);
  EXPECT_GT(one.stats().allocations, 0u);
}

TEST(ComponentAllocator, MeetsTheRequirementsOverASet) {
  set_of_pools one;
  set_of_pools two;
  const over_set<int> a(one);
  const over_set<int> b(two);
  support::check_allocator(a, &b);
  support::check_propagation(a, b);
  EXPECT_EQ(one.stats().blocks_in_use(), 0u);
}

TEST(ComponentAllocator, RunsEveryContainer) {
  model_heap heap;
  grown_pool pool(block_layout{48, 16}, heap_blocks{});
  set_of_pools set;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    support::run_containers<support::extent::brief>(over_model<int>(heap), seed);
    support::run_containers<support::extent::brief>(over_pool<int>(pool), seed);
    support::run_containers<support::extent::brief>(over_set<int>(set), seed);
  }
  EXPECT_EQ(heap.live_blocks(), 0u);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
  EXPECT_EQ(set.stats().blocks_in_use(), 0u);
  EXPECT_TRUE(pool.audit());
  EXPECT_TRUE(set.audit());
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

TEST(ComponentAllocator, ContainersAreMadeFromTheirPool) {
  static_pool<char[48], 100> pool;
  {
    std::list<int, pool_allocator<int, decltype(pool)>> list(pool);
    for (int i = 0; i < 50; ++i) list.push_back(i);
    std::map<int, int, std::less<int>, pool_allocator<std::pair<const int, int>, decltype(pool)>>
        map(pool);
    for (int i = 0; i < 50; ++i) map[i] = i;
    EXPECT_EQ(pool.stats().blocks_in_use, 100u);
    EXPECT_THROW(list.push_back(1), std::bad_alloc);
    EXPECT_EQ(list.size(), 50u);
    EXPECT_EQ(map.size(), 50u);
  }
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(ComponentAllocator, OverAlignedBlocksAreAligned) {
  static_pool<support::cache_line, 4> pool;
  std::list<int, pool_allocator<int, decltype(pool)>> list(pool);
  list.push_back(1);
  pool_allocator<support::cache_line, decltype(pool)> a(pool);
  support::cache_line* const line = a.allocate(1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(line) % 64, 0u);
  a.deallocate(line, 1);
}

}  // namespace
