// Components as memory_resources, and memory_resources as page sources.
#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <tests/support/model_heap.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/adapt/containers.hpp>
#include <ashlar/adapt/pmr.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

using namespace ashlar;
using support::model_heap;

/// Effects: blocks of `r` are aligned and disjoint, keep what is written, and go back.
void check_resource(std::pmr::memory_resource& r) {
  const std::pmr::polymorphic_allocator<char> bytes(&r);
  support::check_blocks(bytes);
  support::check_blocks(std::pmr::polymorphic_allocator<support::cache_line>(bytes));
  support::check_blocks(std::pmr::polymorphic_allocator<support::odd_triple>(bytes));
}

TEST(PmrProcess, IsOneResource) {
  EXPECT_EQ(pmr::process_resource(), pmr::process_resource());
  EXPECT_TRUE(pmr::process_resource()->is_equal(*pmr::process_resource()));
  EXPECT_FALSE(pmr::process_resource()->is_equal(*std::pmr::new_delete_resource()));
}
TEST(PmrProcess, Serves) {
  check_resource(*pmr::process_resource());
  void* const p = pmr::process_resource()->allocate(40, 8);
  allocator<char>().deallocate(static_cast<char*>(p), 40);
  EXPECT_THROW(static_cast<void>(pmr::process_resource()->allocate(SIZE_MAX / 2, 64)),
               std::bad_alloc);
  EXPECT_EQ(runtime::allocate(SIZE_MAX), nullptr);
}
TEST(PmrProcess, RunsEveryContainer) {
  support::run_containers(std::pmr::polymorphic_allocator<int>(pmr::process_resource()), 3);
}
TEST(PmrProcess, CanBeTheDefault) {
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(pmr::process_resource());
  {
    pmr::list<pmr::string> list;
    list.emplace_back(100, 'x');
    EXPECT_EQ(list.front().get_allocator().resource(), pmr::process_resource());
    EXPECT_GE(runtime::usable_size(list.front().data(), "test"), 101u);
  }
  std::pmr::set_default_resource(before);
}

// Used by destructors of static objects, after every other static object has ended.
struct late_user {
  std::pmr::string text{std::string_view("longer than what a string holds itself"),
                        pmr::process_resource()};
} user_until_the_end;

TEST(PmrResource, OverASizedComponent) {
  model_heap heap(1 << 20);
  pmr::resource r(heap);
  check_resource(r);
  EXPECT_THROW(static_cast<void>(r.allocate(2 << 20)), std::bad_alloc);
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    support::run_containers(std::pmr::polymorphic_allocator<int>(&r), seed);
  EXPECT_EQ(heap.live_blocks(), 0u);
}

TEST(PmrResource, OverAPoolWithAnUpstream) {
  model_heap large;
  pmr::resource upstream(large);
  fixed_pool<pmr::source> pool(block_layout{64, 16}, heap_blocks{}, pmr::source(&upstream));
  pmr::resource r(pool, &upstream);
  check_resource(r);
  support::run_containers(std::pmr::polymorphic_allocator<int>(&r), 5);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
  EXPECT_GT(pool.stats().allocations, 1000u);

  void* const fits = r.allocate(64, 16);
  void* const wide = r.allocate(64, 32);
  void* const longer = r.allocate(65, 16);
  EXPECT_TRUE(pool.owns(fits));
  EXPECT_TRUE(large.owns(wide) && large.owns(longer));
  r.deallocate(fits, 64, 16);
  r.deallocate(wide, 64, 32);
  r.deallocate(longer, 65, 16);
  EXPECT_EQ(r.upstream_resource(), &upstream);
}

TEST(PmrResource, WithoutAnUpstreamRefuses) {
  static_pool<char[32], 1> pool;
  pmr::resource r(pool);
  EXPECT_THROW(static_cast<void>(r.allocate(33, 1)), std::bad_alloc);
  void* const p = r.allocate(32, 1);
  EXPECT_THROW(static_cast<void>(r.allocate(1, 1)), std::bad_alloc);
  r.deallocate(p, 32, 1);
}

TEST(PmrResource, NestsInEveryOrder) {
  // A standard pool over ours, over a standard monotonic one, over ours.
  model_heap bottom;
  {
    pmr::resource first(bottom);
    std::pmr::monotonic_buffer_resource second(&first);
    fixed_pool<pmr::source> pool(block_layout{256, 16}, heap_blocks{}, pmr::source(&second));
    pmr::resource third(pool, &second);
    std::pmr::unsynchronized_pool_resource fourth(&third);
    support::run_containers(std::pmr::polymorphic_allocator<int>(&fourth), 9, 100);
  }
  EXPECT_EQ(bottom.live_blocks(), 0u);
}

TEST(PmrResource, EqualityIsIdentity) {
  static_pool<char[32], 1> pool;
  pmr::resource one(pool);
  pmr::resource two(pool);
  EXPECT_TRUE(one.is_equal(one));
  EXPECT_FALSE(one.is_equal(two));
  EXPECT_FALSE(one.is_equal(*pmr::process_resource()));
  EXPECT_NE(pmr::source(&one), pmr::source(&two));
  EXPECT_EQ(pmr::source(&one), pmr::source(&one));
}

TEST(PmrSource, IsNullWhereAResourceThrows) {
  const pmr::source none(std::pmr::null_memory_resource());
  EXPECT_EQ(none.allocate(8, 8), nullptr);
  fixed_pool<pmr::source> pool(block_layout{64, 16}, heap_blocks{}, none);
  EXPECT_EQ(pool.try_allocate(), nullptr);
}

}  // namespace
