// memory_tools/misuses.cpp: every component of ashlar, and the classic ones that forward to them.
#include "misuses.hpp"

#include <thread>

#include <Allocator.h>
#include <ChunkSizedAllocator.h>
#include <MemManager.h>
#include <SizeBasedArena.h>

#include <ashlar/adapt/asan_report.hpp>
#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/compat/growing_pool_set.hpp>
#include <ashlar/compat/xmalloc_pools.hpp>
#include <ashlar/freestanding.hpp>
#include <ashlar/os/page_source.hpp>

namespace {

using namespace ashlar;
using name = named<"orders">;

struct order final {
  char bytes[20];
};

/// A pool's blocks; `Distance` is that of two neighbours.
template <class Pool, std::size_t Distance = 24>
struct of_pool : Pool {
  static constexpr std::size_t size = 20;
  static constexpr std::size_t distance = Distance;
  using Pool::Pool;
  void* take() { return this->allocate(); }
  void give(void* p) { this->deallocate(p); }
};
/// A sized component's blocks.
template <class Component, std::size_t Size = 20, std::size_t Distance = 32>
struct of_sizes : Component {
  static constexpr std::size_t size = Size;
  static constexpr std::size_t distance = Distance;
  using Component::Component;
  void* take() { return this->allocate(size, 8); }
  void give(void* p) { this->deallocate(p, size, 8); }
};

/// A caller's bytes for a component; each case has its own.
struct storage {
  alignas(16) std::byte bytes[1024];
};

struct fixed_pool_in_storage : storage, of_pool<fixed_pool<name>> {
  fixed_pool_in_storage() : of_pool({20, 8}, bytes) {}
};
struct fixed_pool_in_one_piece : of_pool<fixed_pool<name, os::page_source>> {
  fixed_pool_in_one_piece() : of_pool({20, 8}, heap_pool{10}) {}
};
struct fixed_pool_that_grows : of_pool<fixed_pool<name, process_source>> {
  fixed_pool_that_grows() : of_pool({20, 8}, heap_blocks{}) {}
};
struct fixed_pool_full_checks : storage, of_pool<fixed_pool<name, check::full<>>, 32> {
  fixed_pool_full_checks() : of_pool({20, 8}, bytes) {}
};
struct fixed_pool_lock_free : storage, of_pool<fixed_pool<name, lock_free<>>> {
  fixed_pool_lock_free() : of_pool({20, 8}, bytes) {}
};
struct static_pool_of_orders : of_pool<static_pool<order, 4, name>> {};
struct object_pool_of_orders : of_pool<object_pool<order, name, process_source>> {
  object_pool_of_orders() : of_pool(heap_pool{10}) {}
};
struct packed_pool_in_storage : storage, of_pool<packed_pool<>, 20> {
  packed_pool_in_storage() : of_pool({20, 4}, bytes) {}
};
struct static_set : of_sizes<static_pool_set<blocks<16, 4>, blocks<20, 4, 8>, name>, 20, 24> {};
struct set_in_one_piece
    : of_sizes<pool_set<blocks<16, 4>, blocks<20, 4, 8>, name, process_source>, 20, 24> {};
struct growing_set
    : of_sizes<growing_pool_set<blocks<16, 4>, blocks<20, 4, 8>, name, process_source>, 20, 24> {};
struct lists : of_sizes<refill_lists<process_source, 128, 8, name>, 20, 24> {};
struct static_run : of_pool<static_run_pool<order, 4, name>, 20> {};
struct xmalloc_static_pools {
  static constexpr std::size_t size = 32;
  static_xmalloc<blocks<32, 4>, name> pools;
  void* take() { return pools.allocate(size); }
  void give(void* p) { pools.deallocate(p); }
};

struct arena_in_storage : storage, of_sizes<arena<name>> {
  arena_in_storage() : of_sizes(bytes) {}
};
struct arena_that_grows : of_sizes<arena<name, process_source>> {};
struct static_arena_of_bytes : of_sizes<static_arena<256, name>> {};
/// Giving back is resetting.
template <class Arena>
struct reset_by_give : Arena {
  void give(void*) { this->reset(); }
};
struct arena_in_storage_reset : reset_by_give<arena_in_storage> {};
struct arena_that_grows_reset : reset_by_give<arena_that_grows> {};
struct static_arena_reset : reset_by_give<static_arena_of_bytes> {};

struct classic_allocator_heap_blocks : Allocator {
  static constexpr std::size_t size = 24;
  explicit classic_allocator_heap_blocks(UINT objects = 0, CHAR* memory = nullptr)
      : Allocator(size, objects, memory, "orders") {}
  void* take() { return Allocate(size); }
  void give(void* p) { Deallocate(p); }
};
struct classic_allocator_heap_pool : classic_allocator_heap_blocks {
  classic_allocator_heap_pool() : classic_allocator_heap_blocks(8) {}
};
struct classic_allocator_static_pool : storage, classic_allocator_heap_blocks {
  classic_allocator_static_pool()
      : classic_allocator_heap_blocks(8, reinterpret_cast<CHAR*>(bytes)) {}
};
struct classic_allocator_pool : AllocatorPool<order, 4> {
  static constexpr std::size_t size = 20;
  void* take() { return Allocate(size); }
  void give(void* p) { Deallocate(p); }
};
struct classic_chunks : of_sizes<ChunkSizedAllocator<10, 32, 62>, 32, 32> {};
struct classic_mem_manager : MemManager<order, 10, name> {
  static constexpr std::size_t size = 20;
  void* take() { return Allocate(); }
  void give(void* p) { Deallocate(p); }
};
template <class Arena>
struct classic_arena {
  static constexpr std::size_t size = 20;
  static constexpr std::size_t distance = 20;
  void* take() { return Arena::get().allocate_one(); }
  void give(void* p) { Arena::get().deallocate_one(p); }
};
struct classic_arena_bump : classic_arena<SizeBasedArena<order, 10, name>> {};
struct classic_arena_reuse : classic_arena<SizeBasedArena<order, 10, name, arena_option::reuse>> {};

/// An overflow into a neighbour that is in use is seen only if something lies between.
struct arena_with_redzones : storage, of_sizes<arena<name, redzones<16>>> {
  arena_with_redzones() : of_sizes(bytes) {}
};
template <class Component>
void read_between_two_used_blocks(Component& c) {
  char* const lower = misuses::allocate_here(c);
  char* const upper = misuses::allocate_here(c);
  misuses::read_here(upper - 1);
  misuses::free_here(c, upper);
  misuses::free_here(c, lower);
}

/// A pool in a block of an arena in a block of an arena, all moved, and all of its memory used again in the end.
void nest_and_move() {
  static storage outer_storage, other_storage;
  std::memset(outer_storage.bytes, 1, sizeof outer_storage.bytes);
  for (int round = 0; round < 2; ++round) {
    arena<name> outer{std::span(outer_storage.bytes)};
    auto* const bytes = static_cast<std::byte*>(outer.allocate(700));
    arena<name> inner{std::span(bytes, 600)};
    auto* const slots = static_cast<std::byte*>(inner.allocate(300));
    fixed_pool<name> pool({20, 8}, std::span(slots, 300));
    auto* const first = static_cast<char*>(pool.allocate());
    arena<name> moved_outer(std::move(outer));
    arena<name> moved_inner(std::move(inner));
    fixed_pool<name> moved_pool(std::move(pool));
    fixed_pool<name> other({40, 8}, std::span(other_storage.bytes));
    auto* const second = static_cast<char*>(other.allocate());
    swap(moved_pool, other);
    std::memset(first, 2, 20);
    std::memset(second, 3, 40);
    other.deallocate(first);
    moved_pool.deallocate(second);
    if (!other.audit() || !moved_pool.audit() || other.stats().blocks_in_use != 0) std::abort();
    other = std::move(moved_pool);
    moved_inner.reset();
    auto* const block = static_cast<char*>(moved_outer.allocate(10));
    if (!moved_outer.try_extend(block, 10, 30)) std::abort();
    std::memset(block, 4, 30);
    if (!moved_outer.try_extend(block, 30, 5)) std::abort();
    std::memset(block, 5, 5);
  }
  std::memset(outer_storage.bytes, 6, sizeof outer_storage.bytes);
  std::memset(other_storage.bytes, 6, sizeof other_storage.bytes);
}
void chunks_of_an_arena() {
  arena<process_source, name> chunks({.first_chunk_bytes = 256});
  for (int round = 0; round < 3; ++round) {
    const arena_marker start = chunks.mark();
    for (std::size_t i = 1; i < 40; ++i) std::memset(chunks.allocate(i * 8), 7, i * 8);
    chunks.rewind(start);
    if (round == 1) static_cast<void>(chunks.trim());
  }
}

#define POOL_MISUSES(type)                                      \
  MISUSE(type, proper_use), MISUSE(type, read_of_a_free_block), \
      MISUSE(type, read_of_the_last_free_byte), MISUSE(type, read_beyond_into_a_free_block)
#define MISUSES_AND_BEYOND(type) POOL_MISUSES(type), MISUSE(type, read_beyond_into_fresh_memory)
#define MISUSES_WITH_SLACK(type) MISUSES_AND_BEYOND(type), MISUSE(type, read_of_slack)

#if defined(ASHLAR_VALGRIND)
/// The process heap is told to memcheck alone.
struct process_heap_blocks {
  static constexpr std::size_t size = 64;
  static constexpr std::size_t distance = 64;
  static void* take() { return xmalloc(size); }
  static void give(void* p) { xfree(p); }
};
void proper_use_of_the_process_heap() {
  for (const std::size_t size : {1, 100, 5000, 50'000, 500'000, 5'000'000}) {
    auto* p = static_cast<unsigned char*>(xmalloc(size));
    std::memset(p, 1, xusable_size(p));
    p = static_cast<unsigned char*>(xrealloc(p, size * 2));
    std::memset(p + size, 1, size);
    p = static_cast<unsigned char*>(xrealloc(p, size / 2 + 1));
    if (p[0] != 1 || p[size / 2] != 1) std::abort();
    xfree(p);
    auto* const zeros = static_cast<unsigned char*>(xcalloc(1, size));
    for (std::size_t i = 0; i < size; ++i) {
      if (zeros[i] != 0) std::abort();
    }
    xfree(zeros);
  }
  ashlar_trim();
}
// Then the heap has keys in blocks that rest.
void proper_use_among_threads() {
  std::atomic<bool> is_here{false}, is_done{false};
  std::thread other([&] {
    xfree(xmalloc(1));
    is_here = true;
    while (!is_done) std::this_thread::yield();
  });
  while (!is_here) std::this_thread::yield();
  proper_use_of_the_process_heap();
  is_done = true;
  other.join();
}
#endif

const misuses::named_case cases[] = {
#if defined(ASHLAR_VALGRIND)
    POOL_MISUSES(process_heap_blocks),
    {"process_heap.proper_use", proper_use_of_the_process_heap},
    {"process_heap_among_threads.proper_use", proper_use_among_threads},
#endif
    MISUSES_WITH_SLACK(fixed_pool_in_storage),
    MISUSES_WITH_SLACK(fixed_pool_in_one_piece),
    MISUSES_WITH_SLACK(fixed_pool_that_grows),
    MISUSES_WITH_SLACK(fixed_pool_full_checks),
    MISUSES_WITH_SLACK(fixed_pool_lock_free),
    MISUSES_WITH_SLACK(static_pool_of_orders),
    MISUSES_AND_BEYOND(object_pool_of_orders),
    MISUSES_AND_BEYOND(packed_pool_in_storage),
    MISUSES_AND_BEYOND(static_set),
    MISUSES_AND_BEYOND(set_in_one_piece),
    MISUSES_AND_BEYOND(growing_set),
    POOL_MISUSES(lists),
    MISUSE(lists, read_of_slack),
    MISUSES_AND_BEYOND(static_run),
    POOL_MISUSES(xmalloc_static_pools),
    MISUSES_WITH_SLACK(arena_in_storage),
    MISUSE(arena_in_storage_reset, read_of_a_free_block),
    MISUSES_AND_BEYOND(arena_that_grows),
    MISUSE(arena_that_grows_reset, read_of_a_free_block),
    MISUSES_AND_BEYOND(static_arena_of_bytes),
    MISUSE(static_arena_reset, read_of_a_free_block),
    MISUSE(arena_with_redzones, proper_use),
    MISUSE(arena_with_redzones, read_of_slack),
    POOL_MISUSES(classic_allocator_heap_blocks),
    POOL_MISUSES(classic_allocator_heap_pool),
    POOL_MISUSES(classic_allocator_static_pool),
    POOL_MISUSES(classic_allocator_pool),
    POOL_MISUSES(classic_chunks),
    POOL_MISUSES(classic_mem_manager),
    MISUSE(classic_arena_bump, proper_use),
    MISUSE(classic_arena_bump, read_beyond_into_fresh_memory),
    POOL_MISUSES(classic_arena_reuse),
    {"nested.proper_use", nest_and_move},
    {"chunks.proper_use", chunks_of_an_arena},
    {"arena_with_redzones.read_between_two_used_blocks",
     [] {
       static arena_with_redzones component;
       read_between_two_used_blocks(component);
     }},
};

}  // namespace

int main(int count, char** names) {
  return misuses::run_cases(std::begin(cases), std::end(cases), count, names);
}
