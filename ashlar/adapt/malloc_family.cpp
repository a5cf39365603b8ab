// adapt/malloc_family.cpp: the drop-in library's C functions, under the system's own names.
// Layer: adapt. Built into libashlar-malloc.so and ashlar-malloc.o only, never into libashlar.
#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <malloc.h>

#include <ashlar/adapt/c_rules.hpp>

using namespace ashlar;

#define ASHLAR_EXPORT [[gnu::visibility("default")]]

extern "C" {

ASHLAR_EXPORT void* malloc(std::size_t size) noexcept {
  return c_rules::allocate(size, "malloc");
}
/// The same by a name that nobody else can define (runtime/drop_in.cpp).
[[gnu::alias("malloc"), gnu::visibility("hidden"), gnu::malloc, gnu::alloc_size(1)]] void*
ashlar_own_malloc(std::size_t) noexcept;
ASHLAR_EXPORT void free(void* block) noexcept {
  runtime::deallocate(block, "free");
}
ASHLAR_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
  return c_rules::allocate_zeroed(count, size, "calloc");
}
ASHLAR_EXPORT void* realloc(void* block, std::size_t size) noexcept {
  return c_rules::reallocate(block, size, "realloc");
}
/// By realloc's public name: who replaces realloc, as valgrind does, need not know this function.
ASHLAR_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

ASHLAR_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* const block = runtime::allocate_aligned(size, alignment, "posix_memalign");
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}
ASHLAR_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return c_rules::allocate_aligned(alignment, size, "aligned_alloc");
}
ASHLAR_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return c_rules::allocate_aligned(alignment, size, "memalign");
}
ASHLAR_EXPORT void* valloc(std::size_t size) noexcept {
  return c_rules::allocate_aligned(detail::page_size, size, "valloc");
}
/// By memalign's public name, as reallocarray by realloc's.
ASHLAR_EXPORT void* pvalloc(std::size_t size) noexcept {
  std::size_t whole_pages = 0;
  if (!align_up_checked(size, detail::page_size, whole_pages)) {
    errno = ENOMEM;
    return nullptr;
  }
  return memalign(detail::page_size, whole_pages);
}

ASHLAR_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  return c_rules::usable_size(block, "malloc_usable_size");
}
/// The padding that glibc would leave at the top has no meaning here: everything free goes back.
ASHLAR_EXPORT int malloc_trim(std::size_t) noexcept {
  return runtime::trim() != 0 ? 1 : 0;
}

ASHLAR_EXPORT struct mallinfo2 mallinfo2() noexcept {
  ashlar_stats stats;
  runtime::collect(stats);
  struct mallinfo2 info = {};
  info.arena = stats.total.committed_bytes -
               std::min(stats.total.committed_bytes, stats.large.committed_bytes);
  info.hblks = stats.large.blocks_in_use;
  info.hblkhd = stats.large.committed_bytes;
  info.uordblks = stats.total.bytes_in_use;
  // Two moments' figures while other threads run: the difference must not wrap.
  info.fordblks =
      stats.total.committed_bytes - std::min(stats.total.committed_bytes, stats.total.bytes_in_use);
  return info;
}

}  // extern "C"
