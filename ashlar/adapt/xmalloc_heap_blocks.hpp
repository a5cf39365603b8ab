// adapt/xmalloc_heap_blocks.hpp: xmalloc over pools of declared sizes that grow from the process heap.
// Layer: adapt. Includes: core, pool, runtime.
#pragma once

#include <cstddef>
#include <type_traits>

#include <ashlar/adapt/growing_pool_set.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/adapt/xmalloc_pools.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/runtime/process_heap.hpp>

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
