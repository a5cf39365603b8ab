// compat/xallocator_heap_blocks.h: xallocator's heap-blocks mode with sizes chosen by the program.
// C++20; for one source file of a program.
//
//   #include "xallocator_heap_blocks.h"
//   XALLOCATOR_HEAP_BLOCKS(ashlar::blocks<64, 32>, ashlar::blocks<396, 20>,
//                          ashlar::blocks<768, 10>);
//
// As xallocator_static_pools.h, but each size grows without limit: the count is that of its first
// slab, which comes from the process heap when the first block is asked for, and the blocks are
// recycled, never given back. A request above the largest size is the process heap's own, so no
// size fails for its size. More arguments: as there, and a page source in place of the process
// heap. There is no spill: a block comes from the smallest size that fits.
//
// Where the sizes need no tuning, the default mode needs no file like this, is faster (a cache a
// thread) and gives memory back.
#pragma once

#if __cplusplus < 202002L
#error "xallocator_heap_blocks.h needs C++20: compile this file with -std=c++20"
#include "-std=c++20"  // is not there: the compiler stops
#elif defined(STATIC_POOLS)
#error "STATIC_POOLS is defined: write XALLOCATOR_STATIC_POOLS here, or undefine STATIC_POOLS"
#else

#include <cstddef>
#include <type_traits>

#include <ashlar/adapt/process_source.hpp>
#include <ashlar/compat/growing_pool_set.hpp>
#include <ashlar/compat/user_locks.hpp>
#include <ashlar/compat/xmalloc_pools.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/runtime/hit_path.hpp>

#include "xallocator.h"

namespace ashlar {

/// What no declared size fits is the process heap's; an address that is nobody's ends in its fault.
struct larger_from_process_heap {
  static void* allocate(std::size_t size, std::size_t alignment) noexcept {
    return runtime::allocate_aligned(size, alignment);
  }
  static std::size_t usable_size(const void* p, const char* call) noexcept {
    return runtime::usable_size(p, call);
  }
  static bool deallocate(void* p, const char* call) noexcept {
    runtime::deallocate(p, call);
    return true;
  }
};

namespace detail {
/// growing_pool_set with the process heap as its source, if the arguments name none.
template <class... Arguments>
struct with_source {
  using type = growing_pool_set<Arguments..., process_source>;
};
template <class... Arguments>
  requires(!std::is_void_v<pick_policy<source_kind, void, Arguments...>>)
struct with_source<Arguments...> {
  using type = growing_pool_set<Arguments...>;
};
template <class... Arguments>
using sourced_growing_set = typename with_source<Arguments...>::type;
}  // namespace detail

/// Heap blocks: pools that grow, in front of the process heap.
template <class... BlocksAndPolicies>
using heap_blocks_xmalloc = xmalloc_pools<
    typename detail::with_lock<detail::sourced_growing_set, BlocksAndPolicies...>::set,
    typename detail::with_lock<detail::sourced_growing_set, BlocksAndPolicies...>::lock,
    larger_from_process_heap>;

}  // namespace ashlar

#define XALLOCATOR_HEAP_BLOCKS(...) \
  ASHLAR_DEFINE_XMALLOC(::ashlar::heap_blocks_xmalloc __VA_OPT__(, ) __VA_ARGS__)

#endif
