// adapt/component_allocator.hpp: a pool, an arena, a pool set or a heap instance as a standard
// allocator.
// Layer: adapt.
//
//   ashlar::fixed_pool<> pool(ashlar::block_layout{64, 16}, storage);
//   std::list<int, ashlar::pool_allocator<int, decltype(pool)>> list(pool);
//
// Law: an allocator is one address (and the upstream's state, if it has any); two are equal exactly
// when they name one component and equal upstreams, for then each may free the other's blocks.
// Containers take their allocator along when they are moved or swapped, since the memory goes too;
// a copy stays where it is, and a copy-constructed container shares its original's component.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/adapt/component.hpp>
#include <ashlar/adapt/cxx_rules.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/page_source.hpp>

namespace ashlar {

/// What allocate does where a component's block cannot hold n objects (too large, too aligned):
/// it asks `Upstream`, a page source. The default has nothing, so that is std::bad_alloc. What an
/// empty component does is that component's own exhaustion policy; a null from it is bad_alloc.
/// Thread-safety: the component's. Requires: the component outlives all that was allocated.
template <class T, class Component, class Upstream = no_upstream>
class component_allocator {
  static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>,
                "a container's elements are neither const nor volatile");
  static_assert(page_source<Upstream> && std::equality_comparable<Upstream>);

 public:
  using value_type = T;
  using component_type = Component;
  using upstream_type = Upstream;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  // Implicit, so that a container can be constructed from its pool.
  constexpr component_allocator(Component& from) noexcept  // NOLINT(google-explicit-constructor)
    requires std::default_initializable<Upstream>
      : component_(&from) {}
  constexpr component_allocator(Component& from, Upstream upstream) noexcept
      : component_(&from), upstream_(std::move(upstream)) {}
  // A move copies: the standard wants a moved-from allocator to be equal to the new one.
  constexpr component_allocator(const component_allocator&) noexcept = default;
  constexpr component_allocator& operator=(const component_allocator&) noexcept = default;
  template <class U>
  constexpr component_allocator(  // NOLINT(google-explicit-constructor)
      const component_allocator<U, Component, Upstream>& other) noexcept
      : component_(&other.component()), upstream_(other.upstream()) {}

  /// Returns: uninitialised room for `n` objects, aligned for T. Throws: std::bad_array_new_length
  /// when n * sizeof(T) does not fit a size_t; what the component's exhaustion policy throws;
  /// std::bad_alloc for a null from it or from the upstream. Complexity: the component's.
  [[nodiscard]] ASHLAR_HOT T* allocate(std::size_t n) {
    static_assert(ashlar::component<Component>,
                  "neither a sized nor a block component: component.hpp");
    static_assert(detail::takes_upstream<Component> || std::same_as<Upstream, no_upstream>,
                  "this component takes every size: give the upstream to it, not to the allocator");
    constexpr const char* call = "component_allocator::allocate";
    const std::size_t bytes = cxx_rules::array_bytes<sizeof(T)>(n, call);
    void* const block = detail::take(*component_, upstream_, bytes, alignof(T));
    if (block == nullptr) [[unlikely]]
      cxx_rules::throw_bad_alloc(call, bytes);
    return static_cast<T*>(block);
  }

  /// Effects: gives a block back to where it came from. Requires: `p` came from allocate(n) of an
  /// equal allocator; otherwise what the component does with foreign addresses.
  ASHLAR_HOT void deallocate(T* p, std::size_t n) noexcept {
    detail::give(*component_, upstream_, p, n * sizeof(T), alignof(T));
  }

  [[nodiscard]] constexpr Component& component() const noexcept { return *component_; }
  [[nodiscard]] constexpr const Upstream& upstream() const noexcept { return upstream_; }

 private:
  Component* component_;
  [[no_unique_address]] Upstream upstream_{};
};

template <class T, class U, class C, class Up>
[[nodiscard]] constexpr bool operator==(const component_allocator<T, C, Up>& a,
                                        const component_allocator<U, C, Up>& b) noexcept {
  return &a.component() == &b.component() && a.upstream() == b.upstream();
}

/// The name for pools, pool sets and heap instances.
template <class T, class Pool, class Upstream = no_upstream>
using pool_allocator = component_allocator<T, Pool, Upstream>;

template <class... Policies>
class arena;

/// The name for arenas (include arena/arena.hpp, too). Only the topmost block goes back before the
/// arena is rewound or reset.
template <class T, class Arena = arena<>>
using arena_allocator = component_allocator<T, Arena>;

}  // namespace ashlar
