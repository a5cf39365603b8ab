// pool/static_pool.hpp: N blocks for T inside the pool itself: no heap, no start-up code.
// Layer: pool (freestanding).
// Law: a pool that was never used is all zero bits, so a static one is in .bss, usable before main
// (constinit) and after it (its destructor is trivial unless at_death says otherwise).
// Equation: sizeof == N * slot_bytes + state + what policies add (check::cheap: N bytes), rounded
// up to the alignment; slot_bytes == sizeof(T), or a pointer's size if that is more.
#pragma once

#include <cstddef>

#include <ashlar/pool/fixed_pool.hpp>
#include <ashlar/pool/inline_run.hpp>
#include <ashlar/pool/object_face.hpp>
#include <ashlar/pool/pool_engine.hpp>

namespace ashlar {

namespace detail {
template <class T, std::size_t N, class... Policies>
using static_engine =
    pool_engine<inline_run<sizeof(T), alignof(T), N, traits_for<link_for<N>, Policies...>>,
                Policies...>;
}

/// Blocks by try_allocate/allocate/deallocate, objects by create/make/destroy. Policies and
/// defaults as fixed_pool, without a page source. Neither copied nor moved.
template <class T, std::size_t N, class... Policies>
class static_pool : public detail::object_face<static_pool<T, N, Policies...>,
                                               detail::static_engine<T, N, Policies...>, T> {
  using engine = detail::static_engine<T, N, Policies...>;
  using face = detail::object_face<static_pool<T, N, Policies...>, engine, T>;
  static_assert(detail::are_pool_policies<Policies...>, "a pool takes no policy of this kind");
  static_assert(std::is_same_v<detail::source_for<Policies...>, detail::no_source>,
                "a static_pool has its storage inside: it takes no page source");

 public:
  using typename engine::exhaustion_type;

  constexpr static_pool() noexcept : face(exhaustion_type{}) {}
  constexpr explicit static_pool(exhaustion_type exhaustion) noexcept : face(exhaustion) {}

  /// Bytes from one block to the next.
  static constexpr std::size_t slot_bytes =
      detail::shape_of(block_layout::of<T>(),
                       detail::traits_for<detail::link_for<N>, Policies...>::upkeep)
          .stride;
};

}  // namespace ashlar
