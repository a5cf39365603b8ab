// os/page_source.hpp: memory from the operating system, as a page source.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>

#include <ashlar/core/page_source.hpp>

namespace ashlar::os {

/// Pieces of fresh, zeroed memory, each a mapping of its own: for pools, arenas and heaps that want
/// memory apart from the process heap's. Stateless; callable from any thread; keeps errno.
class page_source {
 public:
  /// Returns: `size_bytes` (rounded up to whole pages; 0 counts as 1) at a multiple of `alignment`,
  /// a power of two; null when the system refuses or the sum overflows. One to three system calls.
  [[nodiscard]] static void* allocate(std::size_t size_bytes, std::size_t alignment) noexcept;

  /// Effects: gives a piece back; null does nothing. Requires: `size_bytes` as allocated.
  static void deallocate(void* p, std::size_t size_bytes, std::size_t alignment) noexcept;
};
static_assert(ashlar::page_source<page_source>);

}  // namespace ashlar::os
