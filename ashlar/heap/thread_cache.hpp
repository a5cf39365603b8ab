// heap/thread_cache.hpp: a thread's own free blocks, one stack of addresses per size class.
// Layer: heap. Includes: core.
//
//   slots of class c:  | null | block | block | ... | stale | stale | null |
//                      bottom                 ^ top[c]              ^ limit (moves up as the room grows)
//
// Both ends are null, so popping and noticing "empty" are one load, and pushing looks for "full" in the
// slot that it is about to write: no hit reads a limit. What was popped stays in its slot, stale, so no
// slot between the ends is null. A stack that was never used is closed: bottom, top and limit stand
// side by side, and none of its slots was ever touched.
//
// Invariant: every address on stack c is a free block of class c that no other stack and no bitmap
// knows; bottom + 1 <= top[c] <= limit == bottom + 1 + room; a slot in [bottom, limit] is null iff it is
// an end. room == capacity if the stack is open, else 0.
// Thread-safety: none; one owner at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/page_classes.hpp>

namespace ashlar::detail {

/// A stack is bounded by count and by bytes, whichever is less, but for two blocks at least; it starts
/// small and doubles when it proves too small, so a thread that allocates little holds little.
inline constexpr std::size_t cached_blocks_max = 512;
inline constexpr std::size_t cached_bytes_max = 128 * 1024;
inline constexpr std::size_t cached_bytes_first = 4 * 1024;
inline constexpr std::size_t cached_blocks_min = 2;
inline constexpr std::size_t one_way_bytes_max = 8 * 1024;

/// Why a stack proved too small.
enum class miss : std::uint8_t { empty = 1, full = 2 };
inline constexpr std::uint8_t both_misses = 3;

constexpr std::uint16_t cache_capacity(class_index c, std::size_t bytes) noexcept {
  return static_cast<std::uint16_t>(
      std::clamp(bytes / block_sizes[c], cached_blocks_min, cached_blocks_max));
}

/// Where each class's slots begin. A stack at its largest has the next one's bottom for its limit;
/// class 0 has no room ever, so it is both empty and full.
inline constexpr auto slot_offsets = [] {
  std::array<std::uint32_t, class_count + 1> offsets{};
  offsets[1] = 1;
  for (std::size_t c = 1; c < class_count; ++c)
    offsets[c + 1] = offsets[c] + 1 + cache_capacity(static_cast<class_index>(c), cached_bytes_max);
  return offsets;
}();
inline constexpr std::size_t slots_total = slot_offsets[class_count] + 1;

/// All that the hit paths read: nothing else of a cache or of the heap is touched by a hit.
struct cache_tops {
  void** top[class_count];
  page_classes classes;
};

/// Returns: `top`, which the caller steps next. Where that can be done in memory, the compiler is kept
/// from doing it in a register: one instruction less a hit, in the same time.
[[nodiscard]] ASHLAR_HOT void** read_before_step(void**& top) noexcept {
  if constexpr (adds_in_memory)
    return *const_cast<void** volatile*>(&top);
  else
    return top;
}

struct thread_cache {
  /// Effects: makes every stack empty, closed and small; those of blocks above `block_max` will have no
  /// room, so that every call for them misses. Requires: zeroed memory, or that of a cache.
  void start(const page_classes& of_heap, std::size_t stack_bytes = cached_bytes_first,
             std::size_t block_max = small_size_max) noexcept {
    tops = &own_tops;
    own_tops.classes = of_heap;
    for (std::size_t i = 0; i < class_count; ++i) {
      const auto c = static_cast<class_index>(i);
      if (is_open[c]) *first(c) = nullptr;
      is_open[c] = false;
      own_tops.top[c] = first(c);
      capacity[c] =
          c == 0 || block_sizes[c] > block_max ? std::uint16_t{0}
          : block_sizes[c] > shared_slab_block_max
              ? std::uint16_t{1}
              : std::min(cache_capacity(c, stack_bytes), cache_capacity(c, cached_bytes_max));
      misses[c] = 0;
    }
    capacity_bytes = 0;
    moved_blocks = 0;
  }

  /// Effects: from now on the tops are at `place`, as they are now. Requires: `place` stays until they
  /// are moved again, or the cache starts anew.
  void keep_tops_at(cache_tops& place) noexcept {
    place = *tops;
    tops = &place;
  }

  [[nodiscard]] void** bottom(class_index c) noexcept { return slots + slot_offsets[c]; }
  [[nodiscard]] void** first(class_index c) noexcept { return bottom(c) + 1; }
  [[nodiscard]] void**& top(class_index c) noexcept { return tops->top[c]; }
  [[nodiscard]] void** limit(class_index c) noexcept {
    return first(c) + (is_open[c] ? capacity[c] : 0);
  }
  [[nodiscard]] std::size_t count(class_index c) noexcept {
    return static_cast<std::size_t>(top(c) - first(c));
  }

  /// Effects: gives a closed stack its room. Returns: whether the stack has any. O(its room), once.
  bool open(class_index c) noexcept {
    if (!is_open[c] && capacity[c] != 0) {
      is_open[c] = true;
      make_room(c, 0);
    }
    return is_open[c];
  }

  /// Effects: notes that class `c` proved too small, and doubles its room, up to its maximum, if all
  /// stacks together may then hold no more than `budget` bytes. Beyond `one_way_bytes_max` a stack grows
  /// only when it was both empty and full since it last grew: a thread that only frees what others
  /// allocate would fill any room it gets, and gain nothing. Returns: whether it grew. Requires: it is
  /// open.
  bool grow(class_index c, miss what, std::size_t budget) noexcept {
    misses[c] |= static_cast<std::uint8_t>(what);
    const std::uint16_t most = cache_capacity(c, cached_bytes_max);
    const auto wanted = static_cast<std::uint16_t>(std::min<int>(most, capacity[c] * 2));
    const std::size_t more = std::size_t{block_sizes[c]} * (wanted - capacity[c]);
    if (more == 0 || capacity_bytes + more > budget) return false;
    if (wanted * std::size_t{block_sizes[c]} > one_way_bytes_max && misses[c] != both_misses)
      return false;
    misses[c] = 0;
    capacity_bytes += more;
    const std::size_t before = std::exchange(capacity[c], wanted);
    make_room(c, before);
    return true;
  }

  /// Effects: moves the limit from `before` blocks above the bottom to where it now belongs.
  void make_room(class_index c, std::size_t before) noexcept {
    std::fill(first(c) + before, limit(c), static_cast<void*>(this));
    *limit(c) = nullptr;
  }

  cache_tops* tops;  ///< where the owner's hits find them: here, or with the owner
  cache_tops own_tops;
  /// Blocks on stack c when its owner last left the hit path: what statistics may read from
  /// elsewhere.
  std::atomic<std::uint32_t> published[class_count];
  std::uint16_t capacity[class_count];
  std::uint8_t misses[class_count];  ///< of either kind since the stack last grew
  bool is_open[class_count];
  std::size_t capacity_bytes;  ///< that `grow` has added since the start
  std::size_t moved_blocks;    ///< that came from the centrals and went there since the start
  thread_cache* next;          ///< in the heap's list of caches, or of spare ones
  thread_cache* previous;
  void* slots[slots_total];
};

}  // namespace ashlar::detail
