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

/// A stack is bounded by count and by bytes, whichever is less; it starts small and doubles each
/// time it proves too small, so a thread that allocates little holds little.
inline constexpr std::size_t cached_blocks_max = 512;
inline constexpr std::size_t cached_bytes_max = 128 * 1024;
inline constexpr std::size_t cached_bytes_first = 4 * 1024;
inline constexpr std::size_t cached_blocks_min = 2;

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
      capacity[c] = block_sizes[c] > block_max ? std::uint16_t{0}
                                               : std::min(cache_capacity(c, stack_bytes),
                                                          cache_capacity(c, cached_bytes_max));
      limit[c] = top[c] + capacity[c];
    }
    capacity_bytes = 0;
  }

  [[nodiscard]] void** bottom(class_index c) noexcept { return slots + slot_offsets[c]; }
  [[nodiscard]] std::size_t count(class_index c) noexcept {
    return static_cast<std::size_t>(top[c] - bottom(c)) - 1;
  }

  /// Effects: doubles the room of class `c`, up to its maximum, if all stacks together may then hold
  /// no more than `budget` bytes. A class without room stays so. Returns: whether it grew.
  bool grow(class_index c, std::size_t budget) noexcept {
    const std::uint16_t most = cache_capacity(c, cached_bytes_max);
    const auto wanted = static_cast<std::uint16_t>(std::min<int>(most, capacity[c] * 2));
    const std::size_t more = std::size_t{block_sizes[c]} * (wanted - capacity[c]);
    if (more == 0 || capacity_bytes + more > budget) return false;
    capacity_bytes += more;
    capacity[c] = wanted;
    limit[c] = bottom(c) + 1 + capacity[c];
    return true;
  }

  /// Blocks on stack c when its owner last left the hit path: what statistics may read from
  /// elsewhere.
  std::atomic<std::uint32_t> published[class_count];
  std::uint16_t capacity[class_count];
  std::size_t capacity_bytes;  ///< that `grow` has added since the start
  thread_cache* next;          ///< in the heap's list of caches, or of spare ones
  thread_cache* previous;
  void* slots[slots_total];
};

}  // namespace ashlar::detail
