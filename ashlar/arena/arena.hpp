// arena/arena.hpp: blocks of any size that go together.
// Layer: arena (freestanding).
//
//   arena<>             bounded: the caller's bytes, no heap
//   arena<Source>       grows by chunks from a page source: arena_growth{...}
//   arena<Policies...>  in any order: exhaustion::*, a lock, counting::*, at_death::*,
//                       named<"...">, redzones<N>, a page source
// Defaults: exhaustion::null, no_lock, counting::exact, at_death::destroy, no source.
// Allocating moves a pointer up; freeing is moving it down: to a marker, to the end of a scope
// (arena_scope), or to the start (reset).
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/arena/arena_engine.hpp>
#include <ashlar/arena/arena_objects.hpp>
#include <ashlar/arena/arena_scope.hpp>
#include <ashlar/arena/bounded_memory.hpp>
#include <ashlar/arena/chunk_memory.hpp>
#include <ashlar/core/policy.hpp>

namespace ashlar {

namespace detail {

struct no_chunks {};

template <class Source>
struct memory_on {
  using type = chunk_memory<Source>;
};
template <>
struct memory_on<no_chunks> {
  using type = bounded_memory<given_bytes>;
};

template <class... Policies>
using chunks_for = pick_policy<source_kind, no_chunks, Policies...>;
template <class... Policies>
using arena_face =
    arena_objects<arena_engine<typename memory_on<chunks_for<Policies...>>::type, Policies...>>;

}  // namespace detail

template <class... Policies>
class arena : public detail::arena_face<Policies...> {
  using face = detail::arena_face<Policies...>;
  static constexpr bool has_source =
      !std::is_same_v<detail::chunks_for<Policies...>, detail::no_chunks>;

 public:
  using source_type = detail::chunks_for<Policies...>;
  using typename face::exhaustion_type;

  /// Bounded. Effects: none but taking note of `storage`. Requires: `storage` outlives the arena.
  /// Throws: nothing. O(1).
  explicit arena(std::span<std::byte> storage, exhaustion_type exhaustion = {}) noexcept
    requires(!has_source)
      : face(std::move(exhaustion), storage) {}

  /// Growing. Effects: none yet; the page source is asked when a block is needed, with the arena's
  /// lock held: it must not call the arena. Throws: nothing. O(1).
  explicit arena(arena_growth growth = {}, source_type source = {},
                 exhaustion_type exhaustion = {}) noexcept
    requires has_source
      : face(std::move(exhaustion), growth, std::move(source)) {}

  /// Blocks, objects and markers keep their addresses and belong to the new arena; `other` has
  /// capacity 0, gets no memory any more, and may be assigned to. An arena that is assigned to ends
  /// first, as by its destructor. Requires: the arena has no lock of its own (no_lock), and nobody
  /// is using it.
  arena(arena&& other) noexcept
    requires face::is_movable
  = default;
  arena& operator=(arena&& other) noexcept
    requires face::is_movable
  = default;
};

arena(std::span<std::byte>) -> arena<>;

}  // namespace ashlar
