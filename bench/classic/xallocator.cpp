// bench/classic/xallocator.cpp: document 000: 10,000 blocks each of 2000 and 4000 bytes, freed
// interleaved; static pools; two threads; the Allocator of a class. As the document has it, nobody writes to the blocks, so
// an allocator that does not either needs no memory at all; a second benchmark writes one byte to
// each, which is what blocks are for.
#include <array>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include <Allocator.h>
#include <xallocator.h>

#include <ashlar/compat/xmalloc_pools.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/pool/blocks.hpp>

#include "benchmark.hpp"
#include "original_xallocator.hpp"

namespace classic {
namespace {

constexpr std::size_t blocks = 10'000;

template <auto Take, auto Give>
struct heap {
  static void* allocate(std::size_t size) { return Take(size); }
  static void deallocate(void* p) { Give(p); }
};
using system_heap = heap<std::malloc, std::free>;
using x_heap = heap<xmalloc, xfree>;
using original_heap = heap<originals::xmalloc, originals::xfree>;

// ---- the document's benchmark -------------------------------------------------------------------

// Every other block of each size goes first, so that no two neighbours are free together; then the rest.
template <class Heap, bool Written>
figures interleaved() {
  static void* small[blocks];
  static void* large[blocks];
  return {{timed([] {
    for (std::size_t i = 0; i < blocks; ++i) {
      small[i] = Heap::allocate(2000);
      large[i] = Heap::allocate(4000);
      if constexpr (Written) {
        *static_cast<volatile char*>(small[i]) = 1;
        *static_cast<volatile char*>(large[i]) = 1;
      }
    }
    keep(small);
    keep(large);
    for (std::size_t i = 0; i < blocks; i += 2) {
      Heap::deallocate(small[i]);
      Heap::deallocate(large[i + 1]);
    }
    for (std::size_t i = 0; i < blocks; i += 2) {
      Heap::deallocate(small[i + 1]);
      Heap::deallocate(large[i]);
    }
  })}};
}

// ---- static pools: the document's twelve sizes with 32 blocks each ------------------------------

// What XALLOCATOR_STATIC_POOLS makes the program's xmalloc of; here it is beside the process
// heap's.
template <class... Policies>
using document_pools =
    ashlar::static_xmalloc<ashlar::blocks<8, 32>, ashlar::blocks<16, 32>, ashlar::blocks<32, 32>,
                           ashlar::blocks<64, 32>, ashlar::blocks<128, 32>, ashlar::blocks<256, 32>,
                           ashlar::blocks<396, 32>, ashlar::blocks<512, 32>,
                           ashlar::blocks<768, 32>, ashlar::blocks<1024, 32>,
                           ashlar::blocks<2048, 32>, ashlar::blocks<4096, 32>, Policies...>;
constinit document_pools<> checked_pools;
constinit document_pools<ashlar::check::none, ashlar::counting::none> bare_pools;
originals::xallocator<originals::static_pools<32>> original_pools;

// Not inlined, as functions of another file are not.
template <auto& Pools>
struct pools_heap {
  [[gnu::noinline]] static void* allocate(std::size_t size) { return Pools.allocate(size); }
  [[gnu::noinline]] static void deallocate(void* p) { Pools.deallocate(p); }
};

constexpr std::size_t pairs = 1'000'000;

// 64 blocks live, each replaced in its turn.
template <class Heap>
figures replaced() {
  static constexpr std::array<std::size_t, 4> sizes{20, 100, 250, 700};
  std::array<void*, 64> live{};
  const auto time = timed([&live] {
    for (std::size_t i = 0; i < pairs; ++i) {
      void*& p = live[i % live.size()];
      Heap::deallocate(p);
      p = Heap::allocate(sizes[i % sizes.size()]);
    }
  });
  for (void* const p : live) Heap::deallocate(p);
  return {{time}};
}

// ---- the Allocator of a class, in each mode: 1,000 objects live, replaced in a scattered order;
// and 1,000 made, then ended ----------------------------------------------------------------------

constexpr std::size_t objects = 1'000;
alignas(16) CHAR memory_of_objects[objects * 64];

struct modes {
  static Allocator& heap_blocks() {
    static Allocator pool(64);
    return pool;
  }
  static Allocator& heap_pool() {
    static Allocator pool(64, objects);
    return pool;
  }
  static Allocator& static_pool() {
    static Allocator pool(64, objects, memory_of_objects);
    return pool;
  }
  static Allocator& allocator_pool() {
    static AllocatorPool<CHAR[64], objects> pool;
    return pool;
  }
  static originals::block_list& original() {
    static originals::block_list pool(64);
    return pool;
  }
};
template <auto Pool>
struct pool_of_class {
  static inline auto& pool = Pool();
  [[gnu::noinline]] static void* allocate(std::size_t size) {
    if constexpr (requires { pool.Allocate(size); })
      return pool.Allocate(size);
    else
      return pool.allocate();
  }
  [[gnu::noinline]] static void deallocate(void* p) {
    if constexpr (requires { pool.Deallocate(p); })
      pool.Deallocate(p);
    else
      pool.deallocate(p);
  }
};
template <class Heap>
figures one_size() {
  static std::array<void*, objects> live{};
  for (void*& p : live) p = Heap::allocate(64);
  const auto time = timed([] {
    for (std::size_t i = 0; i < pairs; ++i) {
      void*& p = live[i * 389 % objects];
      Heap::deallocate(p);
      p = Heap::allocate(64);
    }
  });
  for (void* const p : live) Heap::deallocate(p);
  const auto all = timed([] {
    for (std::size_t i = 0; i < pairs / objects; ++i) {
      for (void*& p : live) p = Heap::allocate(64);
      for (void* const p : live) Heap::deallocate(p);
    }
  });
  return {{time, all}};
}
template <auto Pool>
benchmark class_allocator(std::string_view name) {
  return {name,
          {"pair", "all"},
          {{"original", one_size<pool_of_class<modes::original>>},
           {"ashlar", one_size<pool_of_class<Pool>>},
           {"system", one_size<system_heap>}}};
}

// ---- two threads, each with random sizes up to 1000 bytes and 100 blocks live -------------------

template <class Heap>
figures two_threads() {
  const auto work = [](unsigned seed) {
    std::minstd_rand random(seed);
    std::array<void*, 100> live{};
    for (std::size_t i = 0; i < pairs; ++i) {
      void*& p = live[random() % live.size()];
      Heap::deallocate(p);
      p = Heap::allocate(1 + random() % 1000);
    }
    for (void* const p : live) Heap::deallocate(p);
  };
  return {{timed_by_wall([&work] {
    std::thread other(work, 1);
    work(2);
    other.join();
  })}};
}

}  // namespace

std::vector<benchmark> xallocator_benchmarks() {
  return {{"xallocator/interleaved",
           {"all"},
           {{"original", interleaved<original_heap, false>},
            {"ashlar", interleaved<x_heap, false>},
            {"system", interleaved<system_heap, false>}}},
          {"xallocator/interleaved_written",
           {"all"},
           {{"original", interleaved<original_heap, true>},
            {"ashlar", interleaved<x_heap, true>},
            {"system", interleaved<system_heap, true>}}},
          {"xallocator/static_pools",
           {"pair"},
           {{"original", replaced<pools_heap<original_pools>>},
            {"ashlar", replaced<pools_heap<checked_pools>>},
            {"bare", replaced<pools_heap<bare_pools>>},
            {"system", replaced<system_heap>}}},
          class_allocator<modes::heap_blocks>("allocator/heap_blocks"),
          class_allocator<modes::heap_pool>("allocator/heap_pool"),
          class_allocator<modes::static_pool>("allocator/static_pool"),
          class_allocator<modes::allocator_pool>("allocator/allocator_pool"),
          {"xallocator/two_threads",
           {"pair"},
           {{"original", two_threads<original_heap>},
            {"ashlar", two_threads<x_heap>},
            {"system", two_threads<system_heap>}}}};
}

}  // namespace classic
