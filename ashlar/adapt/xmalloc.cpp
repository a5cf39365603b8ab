// adapt/xmalloc.cpp: xmalloc's family on the process heap.
// Layer: adapt.
// Law: all of adapt/xmalloc.h is defined here, and nothing else is. A program that defines the family
// itself then never pulls this object out of the archive, whatever else of libashlar it uses.
#include <cstdio>

#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/c_rules.hpp>

using namespace ashlar;

extern "C" {

void* xmalloc(std::size_t size) noexcept {
  return c_rules::allocate(size, "xmalloc");
}
void xfree(void* block) noexcept {
  runtime::deallocate(block, "xfree");
}
void* xrealloc(void* block, std::size_t size) noexcept {
  return c_rules::reallocate(block, size, "xrealloc");
}
void* xcalloc(std::size_t count, std::size_t size) noexcept {
  return c_rules::allocate_zeroed(count, size, "xcalloc");
}
void* xaligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return c_rules::allocate_aligned(alignment, size, "xaligned_alloc");
}
std::size_t xusable_size(const void* block) noexcept {
  return c_rules::usable_size(block, "xusable_size");
}

void xalloc_init() noexcept {
  xfree(xmalloc(0));
}
void xalloc_destroy() noexcept {
  runtime::trim();
}
void xalloc_stats() noexcept {
  // A report that cannot be written has nobody to be told to.
  static_cast<void>(ashlar_stats_write(stdout, ASHLAR_STATS_TEXT));
}

}  // extern "C"
