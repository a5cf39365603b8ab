// adapt/process_source.hpp: the process heap as a page source.
// Layer: adapt.
#pragma once

#include <cstddef>

#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/runtime/hit_path.hpp>

namespace ashlar {

/// Where a pool, an arena or a face gets memory from the process heap. Any thread; O(1) amortised.
struct process_source {
  /// Returns: a block, or null when there is no memory (the new-handler is not asked: that is its
  /// user's policy). Requires: `alignment` is a power of two.
  [[nodiscard]] static void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (alignment <= block_granule) return runtime::allocate(size);
    return runtime::allocate_aligned(size, alignment);
  }
  /// Effects: gives a block back; null does nothing. Another size or alignment than it was got with
  /// is a fault (wrong_size).
  static void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    deallocate_as(p, size, alignment, "process_source::deallocate");
  }
  /// The same; a fault names `call`, a text that stays.
  static void deallocate_as(void* p, std::size_t size, std::size_t alignment,
                            const char* call) noexcept {
    if (alignment <= block_granule)
      runtime::deallocate_sized(p, size, call);
    else
      runtime::deallocate_sized_slow(p, size, alignment, call);
  }
  /// The same by the address alone.
  static void deallocate(void* p) noexcept { runtime::deallocate(p, "process_source::deallocate"); }
  /// Effects: the whole pages of [p, p + size) are in memory, if the system has them
  /// (core/page_source.hpp). One system call; none while the process heap is sealed. Nothing where
  /// a memory tool looks on: it would take the look at a closed block for a fault.
  static void populate(void* p, std::size_t size) noexcept {
    if constexpr (!detail::tools_present) runtime::populate(p, size);
  }
  friend constexpr bool operator==(process_source, process_source) noexcept { return true; }
};

}  // namespace ashlar
