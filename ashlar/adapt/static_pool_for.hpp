// adapt/static_pool_for.hpp: a static pool for one standard container of at most N elements.
// Layer: adapt.
//
//   constinit ashlar::static_pool_for<std::map<int, float>, 100> nodes;
//   decltype(nodes)::container temperatures(nodes);
//
// No heap and no start-up code: the nodes are inside the pool, their size is known at compile time.
// The unordered containers also want an array of buckets, and while they grow a second one: there
// is room for both.
#pragma once

#include <cstddef>
#include <type_traits>

#include <ashlar/adapt/component_allocator.hpp>
#include <ashlar/adapt/node_size.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/blocks.hpp>
#include <ashlar/pool/pool_set.hpp>

namespace ashlar {

/// Returns: an upper bound of the buckets that an unordered container of at most `elements`
/// elements makes by itself or by reserve and rehash of no more than that, with a maximal load
/// factor of 1. Both libraries double the buckets when the elements outnumber them, so that fewer
/// than 2 * elements are asked for, and go on to a prime number: libc++ to the next one, libstdc++
/// to the next of a list whose gaps are below an eighth (and at least 13).
[[nodiscard]] constexpr std::size_t max_buckets(std::size_t elements) noexcept {
  return 2 * elements + elements / 4 + 16;
}

namespace detail {

template <class Container, std::size_t N>
struct container_blocks {
  static_assert(N != 0, "a container of no elements needs no pool");
  using facts = container_facts<Container>;
  static constexpr std::size_t array_bytes = max_buckets(N) * sizeof(void*);
  static constexpr bool separate = facts::buckets && array_bytes > node_size<Container>;
  // An array that fits a node's block takes one, and there are two arrays at most.
  static constexpr std::size_t node_count = N + facts::spare_nodes + (facts::buckets ? 2 : 0);
  using nodes = blocks<node_size<Container>, node_count, node_alignment<Container>>;
  using arrays = blocks<separate ? array_bytes : node_size<Container>, 2, alignof(void*)>;
};

template <bool Separate, class Nodes, class Arrays, class... Policies>
struct container_set {
  using type = static_pool_set<Nodes, spill::never, Policies...>;
};
template <class Nodes, class Arrays, class... Policies>
struct container_set<true, Nodes, Arrays, Policies...> {
  using type = static_pool_set<Nodes, Arrays, spill::never, Policies...>;
};
template <class Container, std::size_t N, class... Policies>
using container_set_for =
    typename container_set<container_blocks<Container, N>::separate,
                           typename container_blocks<Container, N>::nodes,
                           typename container_blocks<Container, N>::arrays, Policies...>::type;

}  // namespace detail

/// A static_pool_set (its functions, policies and defaults) whose classes are those of `Container`:
/// list, forward_list, set, multiset, map, multimap or an unordered one of these. It is constinit
/// and all zero bits before use. As many elements as N always fit, and with one container in the
/// pool:
/// - emplace of a key that is there already works with N elements, too;
/// - rehash(n) and reserve(n) work for n <= N, and max_load_factor stays at 1 or above;
/// - a range inserted at once into an unordered container counts with its duplicates;
/// - a copy of the container in the same pool needs nodes of its own.
/// What is beyond that is std::bad_alloc, or what an exhaustion policy among `Policies` says; no
/// other heap is ever asked. Requires: the pool outlives the container. Thread-safety: the
/// container's, as long as it has the pool for itself.
template <class Container, std::size_t N, class... Policies>
class static_pool_for : public detail::container_set_for<Container, N, Policies...> {
  using set = detail::container_set_for<Container, N, Policies...>;
  using facts = detail::container_facts<Container>;

 public:
  using set::set;
  constexpr static_pool_for() noexcept = default;

  using allocator_type = component_allocator<typename facts::value_type, static_pool_for>;
  /// `Container` with this pool's allocator. Its constructors take the pool itself for one.
  using container = typename facts::template with<allocator_type>;
  static constexpr std::size_t max_elements = N;

  [[nodiscard]] constexpr allocator_type allocator() noexcept { return allocator_type(*this); }
};

}  // namespace ashlar
