// pool/fixed_pool.hpp: blocks of one size, chosen at run time.
// Layer: pool (freestanding).
//
//   fixed_pool<>            static pool: the caller's bytes, no heap
//   fixed_pool<Source>      heap_pool{n}: one piece of a page source, taken by the constructor
//                           heap_blocks{}: slabs of a page source, taken as needed
//   fixed_pool<Policies...> in any order: exhaustion::*, a lock, check::*, counting::*,
//                           at_death::*, named<"...">, recording::*, a page source
// Defaults: exhaustion::null, no_lock, check::cheap, counting::exact, at_death::ignore,
// recording::none, no source.
// Where blocks are checked, 2^32 - 3 can stand side by side; with a source more, in several slabs.
// Law: blocks are carved on first use; the constructor writes no byte of a caller's storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/block_layout.hpp>
#include <ashlar/pool/block_run.hpp>
#include <ashlar/pool/grown_run.hpp>
#include <ashlar/pool/pool_engine.hpp>

namespace ashlar {

/// All blocks in one piece of the page source, taken at once.
struct heap_pool {
  std::size_t block_count;
};

/// Slabs as needed: the first of `first_slab_blocks`, each further one as large as all before it
/// together (seven times so from the process heap, where what was never used is in no memory) but
/// at most `max_slab_blocks` (0 counts as 1); at most `max_blocks` blocks in all.
struct heap_blocks {
  std::size_t first_slab_blocks = 32;
  std::size_t max_slab_blocks = SIZE_MAX;
  std::size_t max_blocks = SIZE_MAX;
};

namespace detail {

struct no_source {};

struct objects_kind {};
/// Among a fixed_pool's policies: each block is a T, as the class that derives from the pool knows.
template <class T>
struct holds {
  using policy_kind = objects_kind;
  static constexpr bool tight = true;
  template <class Traits>
  using shape = constant_shape<Traits, block_layout::of<T>()>;
};
struct holds_bytes {
  static constexpr bool tight = false;
  template <class Traits>
  using shape = run_time_shape<Traits>;
};

template <class... Policies>
inline constexpr bool are_pool_policies =
    of_kinds<exhaustion_kind, lock_kind, check_kind, counting_kind, death_kind, name_kind,
             recording_kind, source_kind, objects_kind>::template have_all<Policies...>;

template <class Traits, class Shape, class Source>
struct run_on {
  using type = grown_run<Traits, Shape, Source>;
};
template <class Traits, class Shape>
struct run_on<Traits, Shape, no_source> {
  using type = block_run<Traits, Shape>;
};

template <class... Policies>
using contents_for = pick_policy<objects_kind, holds_bytes, Policies...>;
template <class Link, class... Policies>
using traits_for = run_traits<pick_policy<check_kind, check::cheap, Policies...>,
                              pick_policy<lock_kind, no_lock, Policies...>, Link,
                              contents_for<Policies...>::tight>;
template <class... Policies>
using source_for = pick_policy<source_kind, no_source, Policies...>;
template <class... Policies>
using shape_for =
    typename contents_for<Policies...>::template shape<traits_for<run_time_link, Policies...>>;
template <class... Policies>
using run_for = typename run_on<traits_for<run_time_link, Policies...>, shape_for<Policies...>,
                                source_for<Policies...>>::type;

}  // namespace detail

template <class... Policies>
class fixed_pool : public detail::pool_engine<detail::run_for<Policies...>, Policies...> {
  using engine = detail::pool_engine<detail::run_for<Policies...>, Policies...>;
  using traits = detail::traits_for<detail::run_time_link, Policies...>;
  static constexpr bool has_source =
      !std::is_same_v<detail::source_for<Policies...>, detail::no_source>;
  static_assert(detail::are_pool_policies<Policies...>, "a pool takes no policy of this kind");
  static_assert(!engine::death_type::destroys ||
                    !std::is_void_v<pick_policy<detail::objects_kind, void, Policies...>>,
                "at_death::destroy is for pools of objects: a fixed_pool's blocks have no type");

 public:
  using source_type = detail::source_for<Policies...>;
  using typename engine::exhaustion_type;

  /// Static pool. Effects: as many blocks as fit into `storage`, aligned inside it; what is too
  /// small for one block gives capacity 0. Requires: `storage` outlives the pool; block.alignment
  /// is a power of two, else ashlar_fault(bad_argument). Throws: nothing. O(1).
  explicit fixed_pool(block_layout block, std::span<std::byte> storage,
                      exhaustion_type exhaustion = {}) noexcept
    requires(!has_source)
      : engine(std::move(exhaustion), block, storage) {}

  /// Heap pool. Effects: one piece for all blocks; capacity 0 if the source has none or the size
  /// does not fit std::size_t. Requires, throws: as above.
  explicit fixed_pool(block_layout block, heap_pool mode, source_type source = {},
                      exhaustion_type exhaustion = {}) noexcept
    requires has_source
      : engine(std::move(exhaustion), block, std::move(source), std::size_t{0}, std::size_t{0},
               mode.block_count) {
    if (mode.block_count <= traits::max_blocks) this->run().add_slab(mode.block_count);
    this->run().freeze();
  }

  /// Heap blocks; may be constinit. Effects: none yet; the page source is asked when a block is
  /// needed, with the pool's lock held: it must not call the pool. Requires, throws: as above.
  constexpr explicit fixed_pool(block_layout block, heap_blocks mode, source_type source = {},
                                exhaustion_type exhaustion = {}) noexcept
    requires(has_source && !traits::shared)
      : engine(std::move(exhaustion), block, std::move(source), mode.first_slab_blocks,
               mode.max_slab_blocks, mode.max_blocks) {}

  /// Blocks keep their addresses and belong to the new pool; `other` has capacity 0. Requires: the
  /// pool has no lock of its own (no_lock), and nobody is using it.
  fixed_pool(fixed_pool&& other) noexcept
    requires engine::is_movable
  = default;
  /// As the destructor for what this pool had, then as above. A pool keeps its block size with its
  /// blocks: afterwards it has that of `other`.
  fixed_pool& operator=(fixed_pool&& other) noexcept
    requires engine::is_swappable
  {
    fixed_pool taken(std::move(other));
    this->swap_with(taken);
    return *this;
  }
  friend void swap(fixed_pool& a, fixed_pool& b) noexcept
    requires engine::is_swappable
  {
    a.swap_with(b);
  }

  /// Returns: the bytes of storage that hold `count` blocks wherever the storage begins; SIZE_MAX
  /// when no storage can.
  [[nodiscard]] static constexpr std::size_t storage_bytes(block_layout block,
                                                           std::size_t count) noexcept {
    const detail::slot_shape shape = detail::shape_of(block, traits::upkeep);
    std::size_t bytes = detail::run_bytes(shape, traits::upkeep, count);
    if (count > traits::max_blocks) return SIZE_MAX;
    const std::size_t lost = detail::base_alignment(shape, traits::upkeep) - 1;
    if (count != 0 && __builtin_add_overflow(bytes, lost, &bytes)) return SIZE_MAX;
    return bytes;
  }
};

fixed_pool(block_layout, std::span<std::byte>) -> fixed_pool<>;

}  // namespace ashlar
