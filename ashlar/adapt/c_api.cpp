// adapt/c_api.cpp: the functions of ashlar/ashlar.h, but for the statistics' texts.
// Layer: adapt.
#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/c_rules.hpp>

using namespace ashlar;

extern "C" {

void* xmalloc(std::size_t size) noexcept {
  return c_rules::allocate(size);
}
void xfree(void* block) noexcept {
  runtime::deallocate(block, "xfree");
}
void* xrealloc(void* block, std::size_t size) noexcept {
  return c_rules::reallocate(block, size, "xrealloc");
}
void* xcalloc(std::size_t count, std::size_t size) noexcept {
  return c_rules::allocate_zeroed(count, size);
}
void* xaligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return c_rules::allocate_aligned(alignment, size);
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
std::size_t ashlar_trim() noexcept {
  return runtime::trim();
}
void ashlar_set_purge(std::int64_t delay_ms, std::size_t keep_bytes) noexcept {
  runtime::the_heap.set_purge_policy({.delay_ms = delay_ms, .keep_bytes = keep_bytes});
}
void ashlar_stats_get(ashlar_stats* stats) noexcept {
  runtime::collect(*stats);
}

}  // extern "C"
