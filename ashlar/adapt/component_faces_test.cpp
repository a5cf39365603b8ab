// Arenas and heap instances behind the standard faces.
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/ashlar.hpp>

namespace {

using namespace ashlar;

TEST(HeapFaces, MeetTheRequirementsAndRunEveryContainer) {
  heap<> one;
  heap<> two;
  const pool_allocator<int, heap<>> a(one);
  const pool_allocator<int, heap<>> b(two);
  support::check_allocator(a, &b);
  support::check_propagation(a, b);
  support::check_incomplete_type(a);
  support::run_containers<support::extent::brief>(a, 1);
  pmr::resource resource(two);
  support::run_containers<support::extent::brief>(std::pmr::polymorphic_allocator<int>(&resource),
                                                  2);
  const auto shared = allocate_shared<int>(one, 3);
  const auto unique = allocate_unique<int>(two, 4);
  EXPECT_TRUE(one.owns(shared.get()) && two.owns(unique.get()));
}

// Full checks, which compare every size and end in a fault when a block is left: the faces say what
// they asked for.
TEST(HeapFaces, TellACheckedHeapTheSizesThatTheyAskedFor) {
  using checked = heap<check::full<100>, at_death::stop>;
  checked one({.check_stack_depth = 0});
  checked two({.check_stack_depth = 0});
  const pool_allocator<int, checked> a(one);
  const pool_allocator<int, checked> b(two);
  support::check_allocator(a, &b);
  support::run_containers<support::extent::brief>(a, 1);
  pmr::resource resource(two);
  support::run_containers<support::extent::brief>(std::pmr::polymorphic_allocator<int>(&resource),
                                                  2);
  const auto shared = allocate_shared<int>(one, 3);
  const auto unique = allocate_unique<int>(two, 4);
  EXPECT_TRUE(one.owns(shared.get()) && two.owns(unique.get()));
}

TEST(HeapFaces, ABudgetEndsInBadAlloc) {
  heap<> small({.budget_bytes = 4 << 20});
  std::vector<char, pool_allocator<char, heap<>>> v(small);
  EXPECT_THROW(v.resize(64 << 20), std::bad_alloc);
  EXPECT_TRUE(v.empty());
}

using growing_arena = arena<process_source>;

TEST(ArenaFaces, MeetTheRequirementsAndRunEveryContainer) {
  growing_arena one{arena_growth{}};
  growing_arena two{arena_growth{}};
  const arena_allocator<int, growing_arena> a(one);
  const arena_allocator<int, growing_arena> b(two);
  support::check_allocator(a, &b);
  support::check_propagation(a, b);
  support::check_incomplete_type(a);
  support::run_containers<support::extent::brief>(a, 1, 50);
  pmr::resource resource(two);
  support::run_containers<support::extent::brief>(std::pmr::polymorphic_allocator<int>(&resource),
                                                  2, 50);
}

TEST(ArenaFaces, OverACallersBytes) {
  alignas(16) std::byte bytes[4096];
  arena<> room(bytes);
  {
    std::vector<int, arena_allocator<int>> v(room);
    v.resize(100, 7);
    EXPECT_TRUE(room.owns(v.data()));
    EXPECT_THROW(v.resize(2000), std::bad_alloc);
    EXPECT_EQ(v.size(), 100u);
  }
  EXPECT_EQ(room.used_bytes(), 0u) << "the only block was the topmost";
}

// The standard's own resources as page sources of ours, and ours under theirs.
TEST(ArenaFaces, NestInPmr) {
  growing_arena bottom{arena_growth{}};
  pmr::resource below(bottom);
  arena<pmr::source> above(arena_growth{}, pmr::source(&below));
  pmr::resource top(above);
  std::pmr::unsynchronized_pool_resource pools(&top);
  support::run_containers<support::extent::brief>(std::pmr::polymorphic_allocator<int>(&pools), 3,
                                                  50);
}

}  // namespace
