// adapt/component.hpp: the two shapes of ashlar's allocators, as every standard face sees them.
// Layer: adapt.
//
//   sized   try_allocate(size, alignment), allocate(...), deallocate(p, size, alignment)
//           arenas, pool sets, heap instances
//   block   try_allocate(), allocate(), deallocate(p), block_size(), alignment()
//           pools: what is not larger or more aligned than a block gets one
//
// Law: which requests a component serves depends on size and alignment alone (`serves`), not on how
// full it is. So a face that sends the others to an upstream knows from the same two numbers, at
// deallocation, whose block it is.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <ashlar/core/config.hpp>
#include <ashlar/core/page_source.hpp>

namespace ashlar {

template <class C>
concept sized_component = requires(C& c, void* p, std::size_t n) {
  { c.try_allocate(n, n) } noexcept -> std::same_as<void*>;
  { c.allocate(n, n) } -> std::same_as<void*>;
  { c.deallocate(p, n, n) } noexcept;
};

template <class C>
concept block_component = !sized_component<C> && requires(C& c, void* p) {
  { c.try_allocate() } noexcept -> std::same_as<void*>;
  { c.allocate() } -> std::same_as<void*>;
  { c.deallocate(p) } noexcept;
  { c.block_size() } noexcept -> std::convertible_to<std::size_t>;
  { c.alignment() } noexcept -> std::convertible_to<std::size_t>;
};

template <class C>
concept component = sized_component<C> || block_component<C>;

/// A sized component of constant classes that takes no memory from elsewhere: what is beyond its
/// largest class is none of its business, whatever it holds (static_pool_set, pool_set).
template <class C>
concept bounded_component =
    sized_component<C> && !C::exhaustion_type::borrows && requires(std::size_t n) {
      { C::class_of(n, n) } noexcept -> std::same_as<std::size_t>;
      { C::class_count } -> std::convertible_to<std::size_t>;
    };

/// An upstream that has nothing: a page source, as every upstream of a face is.
struct no_upstream {
  static void* allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  static void deallocate(void*, std::size_t, std::size_t) noexcept {}
  friend constexpr bool operator==(no_upstream, no_upstream) noexcept { return true; }
};

/// A component or page source of somebody else's as a page source: one pointer. Requires: it
/// outlives its users.
template <class C>
class source_ref {
 public:
  constexpr source_ref(C& to) noexcept : to_(&to) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment) const noexcept {
    if constexpr (sized_component<C>) {
      return to_->try_allocate(size, alignment);
    } else {
      return to_->allocate(size, alignment);
    }
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) const noexcept {
    to_->deallocate(p, size, alignment);
  }
  friend constexpr bool operator==(source_ref, source_ref) noexcept = default;

 private:
  C* to_;
};

namespace detail {

/// Whether an upstream can ever be asked: the component refuses some sizes by their number.
template <class C>
inline constexpr bool takes_upstream = block_component<C> || bounded_component<C>;

template <component C>
[[nodiscard]] ASHLAR_HOT bool serves([[maybe_unused]] const C& c, [[maybe_unused]] std::size_t size,
                                     [[maybe_unused]] std::size_t alignment) noexcept {
  if constexpr (block_component<C>) {
    return size <= c.block_size() && alignment <= c.alignment();
  } else if constexpr (bounded_component<C>) {
    return C::class_of(size, alignment) != C::class_count;
  } else {
    return true;
  }
}

/// Returns: what the component's exhaustion policy lets allocate return. Requires: it serves this.
template <component C>
[[nodiscard]] ASHLAR_HOT void* take_from(C& c, [[maybe_unused]] std::size_t size,
                                         [[maybe_unused]] std::size_t alignment) {
  if constexpr (block_component<C>) {
    return c.allocate();
  } else {
    return c.allocate(size, alignment);
  }
}

template <component C>
ASHLAR_HOT void give_to(C& c, void* p, [[maybe_unused]] std::size_t size,
                        [[maybe_unused]] std::size_t alignment) noexcept {
  if constexpr (block_component<C>) {
    c.deallocate(p);
  } else {
    c.deallocate(p, size, alignment);
  }
}

/// Returns: a block of the component where that serves the request, else of the upstream; null when
/// the one that was asked has none.
template <component C, page_source Upstream>
[[nodiscard]] ASHLAR_HOT void* take(C& c, Upstream& upstream, std::size_t size,
                                    std::size_t alignment) {
  if (!serves(c, size, alignment)) [[unlikely]]
    return upstream.allocate(size, alignment);
  return take_from(c, size, alignment);
}
template <component C, page_source Upstream>
ASHLAR_HOT void give(C& c, Upstream& upstream, void* p, std::size_t size,
                     std::size_t alignment) noexcept {
  if (!serves(c, size, alignment)) [[unlikely]]
    return upstream.deallocate(p, size, alignment);
  give_to(c, p, size, alignment);
}

}  // namespace detail
}  // namespace ashlar
