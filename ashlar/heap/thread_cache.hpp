// heap/thread_cache.hpp: a thread's own free blocks, one stack of addresses per size class.
// Layer: heap. Includes: core.
//
//   slots of class c:  | null | block | block | ... | free | free | ... |
//                      bottom                  ^ top[c]      ^ limit[c] (moves up to capacity_max)
//
// Invariant: every address on stack c is a free block of class c that no other stack and no bitmap
// knows; top[c] is the first free slot; the null at the bottom is never popped, so that popping and
// noticing "empty" are one load; bottom + 1 <= top[c] <= limit[c].
// Thread-safety: none; one owner at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

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

/// Where each class's slots begin; class 0 has a bottom and no room, so it is both empty and full.
inline constexpr auto slot_offsets = [] {
  std::array<std::uint32_t, class_count + 1> offsets{};
  offsets[1] = 1;
  for (std::size_t c = 1; c < class_count; ++c)
    offsets[c + 1] = offsets[c] + 1 + cache_capacity(static_cast<class_index>(c), cached_bytes_max);
  return offsets;
}();
inline constexpr std::size_t slots_total = slot_offsets[class_count];

/// All that the hit paths read: nothing else of a cache or of the heap is touched by a hit.
struct cache_tops {
  void** top[class_count];
  void** limit[class_count];
  page_classes classes;
};

struct thread_cache : cache_tops {
  /// Effects: makes every stack empty and small; those of blocks above `block_max` have no room, so
  /// that every call for them misses. Requires: zeroed memory.
  void start(const page_classes& of_heap, std::size_t stack_bytes = cached_bytes_first,
             std::size_t block_max = small_size_max) noexcept {
    classes = of_heap;
    top[0] = limit[0] = slots + 1;
    for (std::size_t i = 1; i < class_count; ++i) {
      const auto c = static_cast<class_index>(i);
      top[c] = bottom(c) + 1;
      capacity[c] =
          block_sizes[c] > block_max ? std::uint16_t{0}
          : block_sizes[c] > shared_slab_block_max
              ? std::uint16_t{1}
              : std::min(cache_capacity(c, stack_bytes), cache_capacity(c, cached_bytes_max));
      limit[c] = top[c] + capacity[c];
      misses[c] = 0;
    }
    capacity_bytes = 0;
  }

  [[nodiscard]] void** bottom(class_index c) noexcept { return slots + slot_offsets[c]; }
  [[nodiscard]] std::size_t count(class_index c) noexcept {
    return static_cast<std::size_t>(top[c] - bottom(c)) - 1;
  }

  /// Effects: notes that class `c` proved too small, and doubles its room, up to its maximum, if all
  /// stacks together may then hold no more than `budget` bytes. Beyond `one_way_bytes_max` a stack grows
  /// only when it was both empty and full since it last grew: a thread that only frees what others
  /// allocate would fill any room it gets, and gain nothing. A class without room stays so.
  /// Returns: whether it grew.
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
    capacity[c] = wanted;
    limit[c] = bottom(c) + 1 + capacity[c];
    return true;
  }

  /// Blocks on stack c when its owner last left the hit path: what statistics may read from
  /// elsewhere.
  std::atomic<std::uint32_t> published[class_count];
  std::uint16_t capacity[class_count];
  std::uint8_t misses[class_count];  ///< of either kind since the stack last grew
  std::size_t capacity_bytes;        ///< that `grow` has added since the start
  thread_cache* next;                ///< in the heap's list of caches, or of spare ones
  thread_cache* previous;
  void* slots[slots_total];
};

}  // namespace ashlar::detail
