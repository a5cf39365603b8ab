// arena/static_arena.hpp: an arena with its bytes inside: no heap, no start-up code.
// Layer: arena (freestanding).
// Law: an arena that was never used is all zero bits, so a static one is in .bss and usable before
// main (constinit). With at_death::ignore its destructor is trivial, so it serves after main too.
// Equation: sizeof == Bytes, rounded up to the alignment of std::max_align_t, and before them 4
// words of which 2 are used, or with counting::exact (the default) 6, of which 5 are used.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/arena/arena_engine.hpp>
#include <ashlar/arena/arena_objects.hpp>
#include <ashlar/arena/arena_scope.hpp>
#include <ashlar/arena/bounded_memory.hpp>
#include <ashlar/core/policy.hpp>

namespace ashlar {

namespace detail {
template <std::size_t Bytes, class... Policies>
using static_arena_face =
    arena_objects<arena_engine<bounded_memory<inside_bytes<Bytes>>, Policies...>>;
}

/// Bounded to `Bytes`. Policies and defaults as arena, without a page source. Neither copied nor
/// moved.
template <std::size_t Bytes, class... Policies>
class static_arena : public detail::static_arena_face<Bytes, Policies...> {
  using face = detail::static_arena_face<Bytes, Policies...>;
  static_assert((std::size_t{0} + ... + std::size_t{detail::is_of_kind<source_kind, Policies>}) ==
                    0,
                "a static_arena has its bytes inside: it takes no page source");

 public:
  using typename face::exhaustion_type;

  constexpr static_arena() noexcept : face(exhaustion_type{}) {}
  constexpr explicit static_arena(exhaustion_type exhaustion) noexcept
      : face(std::move(exhaustion)) {}
};

}  // namespace ashlar
