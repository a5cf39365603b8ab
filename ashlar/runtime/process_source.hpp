// runtime/process_source.hpp: the process heap as a page source, for pools that grow from it.
// Layer: runtime. Includes: core.
#pragma once

#include <cstddef>

#include <ashlar/core/page_source.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace ashlar::runtime {

/// Models page_source. An empty type: a pool that uses it is no larger for it. Thread-safe, usable
/// before static constructors and after static destructors. Amortised O(1); a large piece is a
/// mapping of its own, whose pages cost nothing until they are touched.
struct process_source {
  /// Returns: a piece, or null when out of memory. Requires: alignment is a power of two.
  [[nodiscard]] static void* allocate(std::size_t size_bytes, std::size_t alignment) noexcept {
    return runtime::allocate_aligned(size_bytes, alignment);
  }
  /// Effects: takes a piece back; one that never came from the process heap ends in ashlar_fault.
  static void deallocate(void* p, std::size_t, std::size_t) noexcept {
    runtime::deallocate(p, "deallocate");
  }
};
static_assert(page_source<process_source>);

}  // namespace ashlar::runtime
