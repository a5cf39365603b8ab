// pool/run_traits.hpp: what every run of blocks shares: its policies, where its carving stands.
// Layer: pool (freestanding). Not for users: the pools are built of these.
//
//   inline_run  storage inside, everything but `carved` a constant      static_pool
//   block_run   storage of a caller                                     fixed_pool
//   grown_run   storage from a page source, slab by slab                fixed_pool with a source
//
// Invariant of each: carved <= capacity; the carved blocks are 0 ... carved - 1, and only their
// states, links and bytes have ever been written (no initialisation pass).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ashlar/core/address.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/guard_bytes.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/number_list.hpp>
#include <ashlar/core/tagged_stack.hpp>
#include <ashlar/pool/block_layout.hpp>

namespace ashlar::detail {

template <class Lock, class Link>
struct index_for {
  using type = Link;
};
template <class Word, class Link>
struct index_for<lock_free<Word>, Link> {
  using type = typename tagged_stack<Word>::index_type;
};

/// The links of a run whose count is known at run time: 2^32 - 3 blocks side by side are enough.
using run_time_link = std::conditional_t<(sizeof(std::size_t) > 4), std::uint32_t, std::size_t>;

/// What the policies mean for a run, whose links are as wide as `Link` where it numbers its blocks.
/// Tight: a block is no larger than it has to be; else at least a pointer, and aligned for one.
template <class Check, class Lock, class Link = run_time_link, bool Tight = false>
struct run_traits {
  static constexpr bool shared = is_lock_free_policy<Lock>;
  static constexpr bool tracks_state = Check::tracks_state;
  /// The run keeps which blocks are free, by their numbers; else a list or stack of the pool does.
  static constexpr bool numbered = tracks_state && !shared;
  /// Where many callers come at a time, a link cannot say that its block is in use: a late reader
  /// may want it still.
  static constexpr bool keeps_states = tracks_state && shared;
  static constexpr bool needs_index = shared || tracks_state;
  using index_type = typename index_for<Lock, Link>::type;
  using list = number_list<index_type>;
  using links_at = std::conditional_t<numbered, typename list::array, index_type>;
  static constexpr std::size_t first_index = numbered ? 1 : 0;
  /// No block's index.
  static constexpr std::size_t none = numbered ? 0 : SIZE_MAX;

  static constexpr bool whole_words =
      !shared && !(Tight && numbered && !Check::guards_bytes && !tools_present);
  static constexpr block_upkeep upkeep{whole_words, Check::guards_bytes,
                                       needs_index ? sizeof(index_type) : 0,
                                       (keeps_states ? 1u : 0u), numbered ? 1u : 0u};
  static constexpr std::size_t max_blocks = [] {
    if constexpr (shared) {
      return std::size_t{std::numeric_limits<index_type>::max()} - 1;
    } else if constexpr (numbered) {
      return list::max_count;
    } else {
      return std::size_t{SIZE_MAX};
    }
  }();

  /// Whether tools may be told of these blocks: two threads never change what a tool keeps of one
  /// granule, by a lock or because no two blocks share one.
  [[nodiscard]] static constexpr bool may_tell(const slot_shape& shape) noexcept {
    return !shared || ((shape.alignment | shape.stride) & (tool_granule - 1)) == 0;
  }
};

/// One run as a plain body sees it: for the cold paths, which are shared by all pools.
struct run_view {
  const std::byte* base;
  std::size_t stride;
  std::size_t capacity;
  std::size_t carved;
  const void*
      marks;  ///< links, or states where the run is shared; null where neither tells what is in use

  [[nodiscard]] bool contains(const void* p) const noexcept {
    return bytes_from(base, p) < capacity * stride;
  }
  /// Returns: whether `p` is the start of a carved block.
  [[nodiscard]] bool is_carved_block(const void* p) const noexcept {
    return contains(p) && bytes_from(base, p) % stride == 0 &&
           bytes_from(base, p) / stride < carved;
  }
  /// Returns: whether the i-th block from the base is in use. Requires: Traits::tracks_state; i <
  /// carved.
  template <class Traits>
  [[nodiscard]] bool is_live(std::size_t i) const noexcept {
    if constexpr (Traits::shared) {
      auto& state = const_cast<block_state&>(static_cast<const block_state*>(marks)[i]);
      return std::atomic_ref(state).load(std::memory_order_acquire) == block_state::live;
    } else {
      return static_cast<const typename Traits::index_type*>(marks)[i + 1] == Traits::list::live;
    }
  }
};

/// A place in a walk over all runs of a pool, the newest first.
struct run_cursor {
  run_view view;
  const void* older;  ///< to be told to run_of(); null at the last run
};

/// Returns: why `p`, an address inside `run`, cannot be freed.
[[nodiscard]] ASHLAR_COLD inline fault_kind judge(const run_view& run, const void* p) noexcept {
  if (bytes_from(run.base, p) % run.stride != 0) return fault_kind::interior_pointer;
  if (bytes_from(run.base, p) / run.stride >= run.carved) return fault_kind::not_in_use;
  return fault_kind::double_free;
}

/// Where carving stands, for many callers at a time.
template <class Index>
class shared_mark {
 public:
  constexpr shared_mark() noexcept = default;
  [[nodiscard]] ASHLAR_HOT std::size_t carved() const noexcept {
    return carved_.load(std::memory_order_relaxed);
  }
  /// Returns: the index of a block that was never in use, or SIZE_MAX when there is none.
  std::size_t advance(std::size_t capacity) noexcept {
    exchangeable<Index> seen = carved_.load(std::memory_order_relaxed);
    while (seen < capacity) {
      if (carved_.compare_exchange_weak(seen, static_cast<exchangeable<Index>>(seen + 1),
                                        std::memory_order_relaxed)) {
        return seen;
      }
    }
    return SIZE_MAX;
  }

 private:
  std::atomic<exchangeable<Index>> carved_{0};
};

/// The same for one at a time.
class plain_mark {
 public:
  constexpr plain_mark() noexcept = default;
  [[nodiscard]] std::size_t carved() const noexcept { return carved_; }
  std::size_t advance(std::size_t capacity) noexcept {
    return carved_ < capacity ? carved_++ : SIZE_MAX;
  }

 private:
  std::size_t carved_ = 0;
};

/// What a run knows of its blocks beside their links.
template <class Traits>
using mark_for =
    std::conditional_t<Traits::shared, shared_mark<typename Traits::index_type>,
                       std::conditional_t<Traits::numbered, typename Traits::list, plain_mark>>;

/// Returns: the index of a block of `run` that was never in use; Traits::none when there is none.
template <class Run>
[[nodiscard]] std::size_t advance_mark(Run& run, std::size_t capacity) noexcept {
  if constexpr (Run::traits::numbered) {
    return run.mark().carve(run.links(), capacity);
  } else {
    return run.mark().advance(capacity);
  }
}
/// Returns: what a view of `run` tells blocks in use by.
template <class Run>
[[nodiscard]] const void* marks_of(const Run& run) noexcept {
  if constexpr (Run::traits::numbered) {
    return run.links();
  } else if constexpr (Run::traits::tracks_state) {
    return run.states();
  } else {
    return nullptr;
  }
}

}  // namespace ashlar::detail
