// adapt/process_heap_source.hpp: the process heap as a page source.
// Layer: adapt. Includes: runtime.
#pragma once

#include <cstddef>

#include <ashlar/core/page_source.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace ashlar {

/// Thread-safe; O(1) amortised. Not xmalloc: a program's own xmalloc may stand on this.
struct process_heap_source {
  [[nodiscard]] static void* allocate(std::size_t size, std::size_t alignment) noexcept {
    return runtime::allocate_aligned(size, alignment);
  }
  static void deallocate(void* p, std::size_t, std::size_t) noexcept {
    runtime::deallocate(p, "deallocate");
  }
};
static_assert(page_source<process_heap_source>);

}  // namespace ashlar
