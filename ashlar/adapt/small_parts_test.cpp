// The tests of the small sources of ashlar/adapt: a part for each, with its name.
#include <cstddef>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <tests/support/allocator_conformance.hpp>
#include <tests/support/container_programs.hpp>
#include <tests/support/model_heap.hpp>
#include <tests/support/recording_allocator.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/adapt/smart_pointers.hpp>
#include <ashlar/ashlar.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

using namespace ashlar;

// ---- process_source -----------------------------------------------------------------------------
// Tests of adapt/process_source.hpp.

static_assert(ashlar::populating_source<ashlar::process_source>);

TEST(ProcessSource, populates_the_whole_pages_of_a_range_and_changes_no_byte) {
  if (ashlar::detail::tools_present) GTEST_SKIP() << "a memory tool looks on";
  constexpr std::size_t bytes = std::size_t{256} << 20;  // more than other tests leave free
  constexpr std::size_t page = std::size_t{1} << ashlar::heap_page_shift;
  auto* const p = static_cast<std::byte*>(ashlar::process_source::allocate(bytes, page));
  ASSERT_NE(p, nullptr);
  p[100] = std::byte{7};
  const std::size_t before = ashlar::os::system_space::resident(p, bytes);
  ASSERT_LT(before, bytes / 4) << "the memory is fresh";
  ashlar::process_source::populate(p + 1, 2 * page - 2);  // no page is whole
  EXPECT_EQ(ashlar::os::system_space::resident(p, bytes), before);
  ashlar::process_source::populate(p + 1, bytes / 4);
  EXPECT_GE(ashlar::os::system_space::resident(p, bytes), bytes / 4 - page);
  EXPECT_EQ(p[100], std::byte{7});
  const std::size_t half = ashlar::os::system_space::resident(p, bytes);
  ashlar_seal();
  ashlar::process_source::populate(p + bytes / 2, bytes / 2);
  ashlar_unseal();
  EXPECT_EQ(ashlar::os::system_space::resident(p, bytes), half) << "sealed: no system call";
  ashlar::process_source::deallocate(p, bytes, page);
}

// ---- component_faces ----------------------------------------------------------------------------
// Arenas and heap instances behind the standard faces.

template <class Heap>
void check_faces(Heap& one, Heap& two) {
  const pool_allocator<int, Heap> a(one);
  const pool_allocator<int, Heap> b(two);
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

TEST(HeapFaces, MeetTheRequirementsAndRunEveryContainer) {
  heap<> one;
  heap<> two;
  check_faces(one, two);
}

// Full checks, which compare every size and end in a fault when a block is left: the faces say what
// they asked for.
TEST(HeapFaces, TellACheckedHeapTheSizesThatTheyAskedFor) {
  using checked = heap<check::full<100>, at_death::stop>;
  checked one({.check_stack_depth = 0});
  checked two({.check_stack_depth = 0});
  check_faces(one, two);
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

// ---- smart_pointers -----------------------------------------------------------------------------
// allocate_unique and allocate_shared over allocators and components.

struct counted {
  static inline int alive = 0;
  explicit counted(int v, bool fails = false) : value(v) {
    if (fails) throw std::runtime_error("constructor");
    ++alive;
  }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
  int value;
};

TEST(AllocateUnique, OverAnAllocatorIsOnePointer) {
  auto p = allocate_unique<counted>(allocator<int>(), 7);
  static_assert(sizeof(p) == sizeof(void*));
  EXPECT_EQ(p->value, 7);
  EXPECT_EQ(counted::alive, 1);
  decltype(p) empty;
  EXPECT_EQ(empty, nullptr);
  empty = std::move(p);
  EXPECT_EQ(p, nullptr);
  empty.reset();
  EXPECT_EQ(counted::alive, 0);
}

TEST(AllocateUnique, OverAPoolGivesTheBlockBack) {
  static_pool<counted, 2> pool;
  {
    auto a = allocate_unique<counted>(pool, 1);
    auto b = allocate_unique<counted>(pool, 2);
    EXPECT_TRUE(pool.owns(a.get()));
    EXPECT_THROW(static_cast<void>(allocate_unique<counted>(pool, 3)), std::bad_alloc);
    EXPECT_EQ(counted::alive, 2);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(AllocateUnique, AConstructorThatThrowsHoldsNothing) {
  static_pool<counted, 1> pool;
  support::model_heap heap;
  EXPECT_THROW(static_cast<void>(allocate_unique<counted>(pool, 1, true)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(allocate_unique<counted>(heap, 1, true)), std::runtime_error);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
  EXPECT_EQ(heap.live_blocks(), 0u);
  EXPECT_EQ(counted::alive, 0);
}

TEST(AllocateUnique, OverAlignedObjects) {
  struct alignas(256) wide {
    int value = 3;
  };
  auto p = allocate_unique<wide>(allocator<int>());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.get()) % 256, 0u);
}

TEST(AllocateShared, IsOneBlockOfAPoolThatIsDeclaredForIt) {
  static constinit static_pool<shared_block<counted>, 2> pool;
  std::weak_ptr<counted> weak;
  {
    std::shared_ptr<counted> p = allocate_shared<counted>(pool, 5);
    std::shared_ptr<counted> q = p;
    weak = p;
    EXPECT_EQ(p->value, 5);
    EXPECT_EQ(p.use_count(), 2);
    EXPECT_EQ(pool.stats().blocks_in_use, 1u);
    std::shared_ptr<counted> other = allocate_shared<counted>(pool, 6);
    EXPECT_THROW(static_cast<void>(allocate_shared<counted>(pool, 7)), std::bad_alloc);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(pool.stats().blocks_in_use, 1u) << "the counts stay while somebody looks at them";
  weak.reset();
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

TEST(AllocateShared, OverAStatelessAllocator) {
  static_assert(sizeof(shared_block<counted, allocator<counted>>) <= sizeof(shared_block<counted>));
  const auto p = allocate_shared<counted>(allocator<int>(), 9);
  EXPECT_EQ(p->value, 9);
}

TEST(AllocateShared, AConstructorThatThrowsHoldsNothing) {
  static constinit static_pool<shared_block<counted>, 1> pool;
  EXPECT_THROW(static_cast<void>(allocate_shared<counted>(pool, 1, true)), std::runtime_error);
  EXPECT_EQ(pool.stats().blocks_in_use, 0u);
}

}  // namespace
