// arena/arena_engine.hpp: what every arena does with bytes, over any memory and any policies.
// Layer: arena (freestanding). Users get it as the public face of their arena.
//
// Equation: used_bytes == the blocks in use + their padding + what was left of each full chunk.
// Law: the top only rises by allocate and try_extend, and falls by deallocate, try_extend, rewind
// and reset; what is above it belongs to nobody. A block keeps its address until it falls.
// No lock is held while a destructor, a handler or an exhaustion policy runs; a page source is
// asked under the lock. The hit path is try_allocate; names that end in _slow are the misses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/arena/bounded_memory.hpp>
#include <ashlar/arena/finalizer.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/policy.hpp>

namespace ashlar {

struct redzone_kind {};

/// Policy: where a tool listens, `Bytes` closed bytes lie behind each block, so that an overflow
/// from one block into the next is seen. They count as padding. Where none listens there are none.
template <std::size_t Bytes = 16>
struct redzones {
  using policy_kind = redzone_kind;
  static constexpr std::size_t bytes = Bytes;
};

/// An arena's figures.
struct arena_stats {
  std::size_t capacity_bytes = 0;  ///< for blocks, in the memory that the arena has now
  std::size_t used_bytes = 0;      ///< from the start to the top: blocks, padding, ends of chunks
  std::size_t peak_bytes = 0;      ///< most that used_bytes ever was; 0 with counting::none
  std::size_t chunks = 0;          ///< pieces that the capacity consists of
  std::size_t allocations = 0;     ///< blocks handed out, ever; 0 with counting::none
  std::size_t padding_bytes = 0;   ///< lost to alignment, ever; 0 with counting::none
};

namespace detail {
template <class Memory, class... Policies>
class arena_engine;

/// Counters of an arena. The peak needs no work while the top rises: it is looked at before a fall.
struct arena_counters {
  // The two that each allocation adds to are kept apart: side by side clang makes them one vector,
  // which then waits for itself through memory (2.7 ns a block instead of 1.1 on an AMD EPYC).
  std::size_t allocations = 0;
  std::size_t highest_fall = 0;
  std::size_t padding_bytes = 0;

  ASHLAR_HOT void allocated(std::size_t padding) noexcept {
    ++allocations;
    padding_bytes += padding;
  }
  ASHLAR_HOT void falls_from(std::size_t used_bytes) noexcept {
    if (used_bytes > highest_fall) highest_fall = used_bytes;
  }
};
struct no_arena_counters {
  ASHLAR_HOT static constexpr void allocated(std::size_t) noexcept {}
  ASHLAR_HOT static constexpr void falls_from(std::size_t) noexcept {}
};
}  // namespace detail

/// A place to which an arena can be rewound: everything allocated later goes. It stays valid until
/// the arena is rewound to an earlier one, and moves with the arena's memory. A default one is the
/// start of an arena on a page source.
class arena_marker {
 public:
  constexpr arena_marker() noexcept = default;

 private:
  template <class Memory, class... Policies>
  friend class detail::arena_engine;
  constexpr arena_marker(detail::arena_position position, detail::finalizer* newest) noexcept
      : position_(position), newest_(newest) {}

  detail::arena_position position_{};
  detail::finalizer* newest_ = nullptr;
};

namespace detail {

template <class Memory, class... Policies>
class arena_engine {
 public:
  using exhaustion_type = pick_policy<exhaustion_kind, exhaustion::null, Policies...>;
  using lock_type = pick_policy<lock_kind, no_lock, Policies...>;
  using counting_type = pick_policy<counting_kind, counting::exact, Policies...>;
  using death_type = pick_policy<death_kind, at_death::destroy, Policies...>;
  using name_type = pick_policy<name_kind, unnamed, Policies...>;
  /// Closed bytes behind each block, where a tool listens.
  static constexpr std::size_t redzone_bytes =
      tools_present ? pick_policy<redzone_kind, redzones<0>, Policies...>::bytes : 0;
  using marker = arena_marker;

  static constexpr bool is_movable = std::is_same_v<lock_type, no_lock> &&
                                     std::is_move_constructible_v<Memory> &&
                                     std::is_move_assignable_v<Memory>;
  static constexpr bool nothrow_allocate = exhaustion_type::nothrow;

  static_assert(exhaustion_policy<exhaustion_type>);
  static_assert(!is_lock_free_policy<lock_type>,
                "an arena is not lock_free: a rewind would take blocks from under the other "
                "callers; give it spin_lock, interrupt_mask or a mutex, or each thread its own");
  static_assert((std::size_t{0} + ... + std::size_t{is_of_kind<check_kind, Policies>}) == 0,
                "an arena keeps no state of its blocks: it takes no check policy");
  static_assert(of_kinds<exhaustion_kind, lock_kind, check_kind, counting_kind, death_kind,
                         name_kind, source_kind, redzone_kind>::template have_all<Policies...>,
                "an arena takes no policy of this kind");

  arena_engine(const arena_engine&) = delete;
  arena_engine& operator=(const arena_engine&) = delete;

  /// Returns: a block of `size` bytes at `alignment`, its contents unspecified; null when there is
  /// no room. A size of 0 counts as 1. Requires: `alignment` is a power of two, else
  /// ashlar_fault(bad_argument). Throws: nothing; a lock that throws ends the program.
  /// Complexity: O(1); on a page source each kept chunk that is too small is given back once.
  /// Thread-safety: as the lock policy says, for all functions of an arena.
  [[nodiscard]] ASHLAR_HOT void* try_allocate(
      std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (!is_power_of_two(alignment)) [[unlikely]]
      bad_argument_slow("allocate", nullptr, size);
    size += size == 0;
    scoped_lock guard(lock_);
    std::byte* p = nullptr;
    if (!bump(size, alignment, p)) [[unlikely]]
      return grow_and_bump_slow(size, alignment);
    return p;
  }

  /// As try_allocate, but an arena without room asks the exhaustion policy, with no lock held.
  /// A block that the policy borrows is not part of the arena: no rewind gives it back, only
  /// deallocate. Throws: what that policy throws.
  [[nodiscard]] ASHLAR_HOT void* allocate(
      std::size_t size,
      std::size_t alignment = alignof(std::max_align_t)) noexcept(nothrow_allocate) {
    void* const p = try_allocate(size, alignment);
    if constexpr (!std::is_same_v<exhaustion_type, exhaustion::null>) {
      if (p == nullptr) [[unlikely]]
        return exhausted_slow(size, alignment);
    }
    return p;
  }

  /// Effects: the topmost block goes back to the arena (not its padding), and a borrowed one to
  /// where it came from; any other stays in use until a rewind. Null is allowed and does nothing.
  /// Requires: `p` came from (try_)allocate with this `size` and `alignment` and is in use. Seen,
  /// and reported by ashlar_fault: a block above the top (not_in_use), a size that reaches beyond
  /// the top (wrong_size), and where the arena is bounded and does not borrow a foreign address.
  /// Complexity: O(1); if the policy borrows and the arena grows, O(chunks).
  ASHLAR_HOT void deallocate(
      void* p, std::size_t size,
      [[maybe_unused]] std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (p == nullptr) [[unlikely]]
      return;
    size += size == 0;
    if constexpr (exhaustion_type::borrows) {
      if (!owns(p)) [[unlikely]]
        return exhaustion_.give_back(p, {size, alignment, name()});
    }
    scoped_lock guard(lock_);
    const std::size_t offset = bytes_from(memory_.base(), p);
    const std::size_t used = memory_.used();
    if (offset < used && size <= used - offset) [[likely]] {
      if (size == used - offset - redzone_bytes) {
        if constexpr (tools_present) tell_freed(memory_.owner(), p, size);
        fall(offset);
      }
      return;
    }
    judge_slow(p, offset);
  }

  /// Effects: the topmost block gets another size, in place; its first bytes stay. Returns: whether
  /// it did: false for any other block, and where there is no room. A size of 0 counts as 1. O(1).
  [[nodiscard]] bool try_extend(void* p, std::size_t old_size, std::size_t new_size) noexcept {
    if (p == nullptr) return false;
    old_size += old_size == 0;
    new_size += new_size == 0;
    scoped_lock guard(lock_);
    const std::size_t offset = bytes_from(memory_.base(), p);
    const std::size_t used = memory_.used();
    if (offset >= used || old_size != used - offset - redzone_bytes) return false;
    const std::size_t room = memory_.limit() - offset;
    if (new_size > room || redzone_bytes > room - new_size) return false;
    if constexpr (tools_present) tell_resized(memory_.owner(), p, old_size, new_size);
    if (new_size < old_size) {
      fall(offset + new_size + redzone_bytes);
    } else {
      memory_.raise(new_size - old_size);
    }
    return true;
  }

  /// Returns: the place of the top, for rewind. O(1).
  [[nodiscard]] ASHLAR_HOT marker mark() const noexcept {
    scoped_lock guard(lock_);
    return {memory_.place_of_top(), newest_};
  }

  /// Effects: destroys the objects created since `to`, the newest first, then all blocks allocated
  /// since are free; their memory stays in the arena. A destructor may use the arena: what it
  /// allocates goes with the rest. Requires: `to` was made by this arena, and the top is not below
  /// it; else ashlar_fault(bad_argument) where that is seen: always if it is of other memory, in
  /// another chunk or above the top, and if an object was created before it. No other caller holds
  /// what goes. Complexity: O(1) + the destructors + the chunks that become empty.
  void rewind(marker to) noexcept {
    scoped_lock guard(lock_);
    require_reached(to);
    if (newest_ != to.newest_) {
      destroy_until(to.newest_);
      require_reached(to);
    }
    counters_.falls_from(memory_.used_bytes());
    memory_.rewind(to.position_);
  }

  /// Effects: rewinds to the start. The memory stays in the arena: see trim.
  void reset() noexcept { rewind({memory_.start(), nullptr}); }

  /// Effects: chunks in which nothing is go back to the page source: all of them after a reset.
  /// Returns: how many bytes went. Complexity: O(chunks that go); bounded arenas have none.
  std::size_t trim() noexcept {
    scoped_lock guard(lock_);
    return memory_.trim();
  }

  /// Returns: whether `p` points into the arena's memory, in use or not. A block borrowed by the
  /// exhaustion policy is not the arena's. Complexity: O(chunks).
  [[nodiscard]] bool owns(const void* p) const noexcept {
    if constexpr (Memory::grows) {
      scoped_lock guard(lock_);
      return memory_.owns(p);
    } else {
      return memory_.owns(p);
    }
  }

  /// Returns: as in arena_stats. O(1).
  [[nodiscard]] std::size_t used_bytes() const noexcept {
    scoped_lock guard(lock_);
    return memory_.used_bytes();
  }
  /// Returns: as in arena_stats. O(1).
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    scoped_lock guard(lock_);
    return memory_.capacity_bytes();
  }
  /// Returns: the figures at one moment. O(1).
  [[nodiscard]] arena_stats stats() const noexcept {
    scoped_lock guard(lock_);
    arena_stats s;
    s.capacity_bytes = memory_.capacity_bytes();
    s.used_bytes = memory_.used_bytes();
    s.chunks = memory_.chunks();
    if constexpr (counting_type::counts) {
      s.peak_bytes = counters_.highest_fall > s.used_bytes ? counters_.highest_fall : s.used_bytes;
      s.allocations = counters_.allocations;
      s.padding_bytes = counters_.padding_bytes;
    }
    return s;
  }
  /// Returns: the arena's name, or null.
  [[nodiscard]] static constexpr const char* name() noexcept { return name_type::name(); }
  /// The policy object, for those that have a state.
  [[nodiscard]] exhaustion_type& exhaustion_policy_object() noexcept { return exhaustion_; }

 protected:
  template <class... MemoryArguments>
  constexpr explicit arena_engine(exhaustion_type exhaustion, MemoryArguments&&... memory) noexcept
      : exhaustion_(std::move(exhaustion)), memory_(std::forward<MemoryArguments>(memory)...) {}

  /// Blocks, objects and markers keep their addresses and belong to the new arena; `other` is left
  /// with capacity 0. Requires: nobody uses `other`.
  arena_engine(arena_engine&& other) noexcept
    requires is_movable
      : newest_(std::exchange(other.newest_, nullptr)),
        counters_(std::exchange(other.counters_, {})),
        exhaustion_(std::move(other.exhaustion_)),
        memory_(std::move(other.memory_)) {}
  /// Effects: this arena ends as by its destructor first.
  arena_engine& operator=(arena_engine&& other) noexcept
    requires is_movable
  {
    if (this == &other) return *this;
    end();
    newest_ = std::exchange(other.newest_, nullptr);
    counters_ = std::exchange(other.counters_, {});
    exhaustion_ = std::move(other.exhaustion_);
    memory_ = std::move(other.memory_);
    return *this;
  }

  // Trivial where nothing is to be done: a static arena then serves until the last static
  // destructor has run.
  ~arena_engine()
    requires(!death_type::destroys && !death_type::reports)
  = default;
  ~arena_engine()
    requires(death_type::destroys || death_type::reports)
  {
    end();
  }

  /// Effects: the destructors of `head`'s block will run when it is rewound.
  void enlist(finalizer* head) noexcept {
    scoped_lock guard(lock_);
    head->older = newest_;
    newest_ = head;
  }

 private:
  using counters_type =
      std::conditional_t<counting_type::counts, arena_counters, no_arena_counters>;

  /// Returns: false if the current piece has no room; else the block in `p`. Requires: size > 0;
  /// the lock.
  [[nodiscard]] ASHLAR_HOT bool bump(std::size_t size, std::size_t alignment,
                                     std::byte*& p) noexcept {
    std::byte* const top = memory_.top();
    const std::size_t padding = memory_.padding(alignment);
    std::size_t needed = 0;
    if (__builtin_add_overflow(padding + redzone_bytes, size, &needed) || needed > memory_.room())
        [[unlikely]]
      return false;
    memory_.raise(needed);
    counters_.allocated(padding + redzone_bytes);
    p = top + padding;
    if constexpr (tools_present) tell_made({memory_.owner(), name()}, p, size, size);
    return true;
  }
  [[nodiscard]] ASHLAR_COLD std::byte* grow_and_bump_slow(std::size_t size,
                                                          std::size_t alignment) noexcept {
    std::byte* p = nullptr;
    std::size_t needed = 0;
    if (__builtin_add_overflow(size, redzone_bytes, &needed)) return nullptr;
    if (memory_.make_room(needed, alignment) && !bump(size, alignment, p)) __builtin_unreachable();
    return p;
  }

  [[nodiscard]] ASHLAR_COLD void* exhausted_slow(std::size_t size,
                                                 std::size_t alignment) noexcept(nothrow_allocate) {
    return exhaustion_.exhausted({size + (size == 0), alignment, name()},
                                 [=, this]() noexcept { return try_allocate(size, alignment); });
  }

  ASHLAR_HOT void fall(std::size_t to) noexcept {
    counters_.falls_from(memory_.used_bytes());
    memory_.fall(to);
  }

  // The three below are called with the lock held, and end or return so.
  ASHLAR_COLD void judge_slow(const void* p, std::size_t offset) noexcept {
    const std::size_t used = memory_.used();
    fault_kind kind = fault_kind::foreign_pointer;
    if (offset < memory_.limit()) {
      kind = offset < used ? fault_kind::wrong_size : fault_kind::not_in_use;
    } else if (Memory::grows) {
      return;  // a block of another chunk, as far as can be told without a walk
    }
    lock_.unlock();
    ashlar_fault({kind, "deallocate", p, 0, name()});
  }
  ASHLAR_HOT void require_reached(const marker& to) noexcept {
    if (!memory_.reaches(to.position_)) [[unlikely]] {
      lock_.unlock();
      bad_argument_slow("rewind", to.position_.piece, to.position_.used);
    }
  }
  ASHLAR_COLD void destroy_until(const finalizer* last) noexcept {
    while (newest_ != last) {
      finalizer* const head = newest_;
      if (head == nullptr) {
        lock_.unlock();
        bad_argument_slow("rewind", last, 0);  // the marker's own object is gone
      }
      newest_ = head->older;
      lock_.unlock();
      finish(head);
      lock_.lock();
    }
  }
  void finish(finalizer* head) noexcept {
    if constexpr (exhaustion_type::borrows) {
      const bool is_ours = owns(head);
      const block_extent block = head->end(head);
      if (!is_ours) exhaustion_.give_back(head, {block.size_bytes, block.alignment, name()});
    } else {
      head->end(head);
    }
  }

  void end() noexcept {
    if constexpr (death_type::destroys) {
      scoped_lock guard(lock_);
      destroy_until(nullptr);
    } else if constexpr (death_type::reports) {
      if (memory_.used_bytes() != 0) left_slow();
    }
  }

  /// How many blocks are left an arena does not know: it says how many bytes.
  ASHLAR_COLD void left_slow() const noexcept {
    const fault what{fault_kind::leak, "~arena", memory_.base(), memory_.used_bytes(), name()};
    if constexpr (death_type::stops) {
      ashlar_fault(what);
    } else {
      ashlar_report(what);
    }
  }

  [[noreturn]] ASHLAR_COLD static void bad_argument_slow(const char* call, const void* address,
                                                         std::size_t size) noexcept {
    ashlar_fault({fault_kind::bad_argument, call, address, size, name()});
  }

  // Hot fields first: a static arena's storage may be larger than the reach of a short load.
  finalizer* newest_ = nullptr;
  [[no_unique_address]] counters_type counters_;
  [[no_unique_address]] mutable lock_type lock_;
  [[no_unique_address]] exhaustion_type exhaustion_;
  Memory memory_;
};

}  // namespace detail
}  // namespace ashlar
