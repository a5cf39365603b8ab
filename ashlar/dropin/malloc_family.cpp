// dropin/malloc_family.cpp: the drop-in library's C functions, under the system's own names.
// Layer: dropin.
//
// docs/malloc-interface.md has a row for each function, and what differs from glibc.
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <ashlar/adapt/c_rules.hpp>
#include <ashlar/dropin/export.hpp>
#include <ashlar/runtime/drop_in.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/sampling.hpp>

using namespace ashlar;

namespace {

/// As glibc 2.36 does for both names: an alignment that is no power of two becomes the next one.
ASHLAR_COLD void* allocate_at_least_aligned_missed(std::size_t alignment, std::size_t size,
                                                   const char* call) noexcept {
  constexpr std::size_t largest = ~(SIZE_MAX >> 1);
  if (!is_power_of_two(alignment) && alignment <= largest) alignment = std::bit_ceil(alignment);
  return c_rules::allocate_aligned(alignment, size, call);
}
ASHLAR_HOT void* allocate_at_least_aligned(std::size_t alignment, std::size_t size,
                                           const char* call) noexcept {
  void* const block = c_rules::hits::try_allocate_aligned(runtime::tops(), size, alignment);
  return block != nullptr ? block : allocate_at_least_aligned_missed(alignment, size, call);
}

/// While allocations are sampled every malloc comes here: without a frame for most.
ASHLAR_COLD void* malloc_missed(std::size_t size) noexcept {
  void* const block = runtime::hit_in_gap(size);
  return block != nullptr ? block : c_rules::allocate_missed(size, "malloc");
}

ASHLAR_COLD int posix_memalign_missed(void** result, std::size_t alignment,
                                      std::size_t size) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* const block = runtime::allocate_aligned(size, alignment, "posix_memalign");
  if (block == nullptr) return errno = ENOMEM;  // glibc's sets it, and programs print it
  *result = block;
  return 0;
}

/// Of another malloc's block nothing is known: a library may ask where the program's own family has
/// no such function.
ASHLAR_COLD std::size_t usable_size_missed(void* block) noexcept {
  if (runtime::malloc_is_anothers && !runtime::holds(block)) return 0;
  return c_rules::usable_size_missed(block, "malloc_usable_size");
}

/// By free's public name, as reallocarray by realloc's.
ASHLAR_COLD void free_missed(void* block, const char* call) noexcept {
  runtime::call_under_alias("free", call, [=] { ::free(block); });
}

}  // namespace

extern "C" {

ASHLAR_EXPORT ASHLAR_AT_LINE void* malloc(std::size_t size) ASHLAR_C_FUNCTION {
  void* const block = c_rules::hits::try_allocate(runtime::tops(), size);
  return block != nullptr ? block : malloc_missed(size);
}
/// The same by a name that nobody else can define (serves_process.cpp).
[[gnu::alias("malloc"), gnu::visibility("hidden"), gnu::malloc, gnu::alloc_size(1)]] void*
ashlar_own_malloc(std::size_t) noexcept;
ASHLAR_EXPORT ASHLAR_AT_LINE void free(void* block) ASHLAR_C_FUNCTION {
  runtime::deallocate(block, "free");
}
ASHLAR_EXPORT ASHLAR_AT_LINE void* calloc(std::size_t count, std::size_t size) ASHLAR_C_FUNCTION {
  return c_rules::allocate_zeroed(count, size, "calloc");
}
ASHLAR_EXPORT ASHLAR_AT_LINE void* realloc(void* block, std::size_t size) ASHLAR_C_FUNCTION {
  return c_rules::reallocate(block, size, "realloc");
}
/// By realloc's public name: who replaces realloc, as valgrind does, need not know this function.
ASHLAR_EXPORT void* reallocarray(void* block, std::size_t count,
                                 std::size_t size) ASHLAR_C_FUNCTION {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return c_rules::or_enomem(nullptr);
  return realloc(block, bytes);
}

ASHLAR_EXPORT int posix_memalign(void** result, std::size_t alignment,
                                 std::size_t size) ASHLAR_C_FUNCTION {
  // A smaller alignment than a pointer's is not allowed, and the smallest allowed one always hits.
  const std::size_t mask = (alignment - 1) | (sizeof(void*) - 1);
  if ((mask & alignment) == 0) [[likely]] {  // a power of two that is allowed, or 0, which misses
    void* const block = c_rules::hits::try_allocate_aligned(runtime::tops(), size, mask + 1);
    if (block != nullptr) [[likely]] {
      *result = block;
      return 0;
    }
  }
  return posix_memalign_missed(result, alignment, size);
}
ASHLAR_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) ASHLAR_C_FUNCTION {
  return allocate_at_least_aligned(alignment, size, "aligned_alloc");
}
ASHLAR_EXPORT void* memalign(std::size_t alignment, std::size_t size) ASHLAR_C_FUNCTION {
  return allocate_at_least_aligned(alignment, size, "memalign");
}
ASHLAR_EXPORT void* valloc(std::size_t size) ASHLAR_C_FUNCTION {
  return c_rules::allocate_aligned(detail::page_size, size, "valloc");
}
/// By memalign's public name, as reallocarray by realloc's.
ASHLAR_EXPORT void* pvalloc(std::size_t size) ASHLAR_C_FUNCTION {
  std::size_t whole_pages = 0;
  if (!align_up_checked(size, detail::page_size, whole_pages)) return c_rules::or_enomem(nullptr);
  return memalign(detail::page_size, whole_pages);
}

ASHLAR_EXPORT std::size_t malloc_usable_size(void* block) ASHLAR_C_FUNCTION {
  const std::size_t size = c_rules::hits::try_usable_size(runtime::tops(), block);
  return size != 0 ? size : usable_size_missed(block);
}
/// The padding that glibc would leave at the top has no meaning here: everything free goes back.
ASHLAR_EXPORT int malloc_trim(std::size_t) ASHLAR_C_FUNCTION {
  return runtime::trim() != 0 ? 1 : 0;
}

/// C23. The sizes are not compared: realloc leaves a block where it is when it shrinks a little.
ASHLAR_EXPORT void free_sized(void* block, std::size_t) ASHLAR_C_FUNCTION {
  if (!runtime::process_hits::try_deallocate(runtime::tops(), block)) [[unlikely]]
    free_missed(block, "free_sized");
}
ASHLAR_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) ASHLAR_C_FUNCTION {
  if (!runtime::process_hits::try_deallocate(runtime::tops(), block)) [[unlikely]]
    free_missed(block, "free_aligned_sized");
}

}  // extern "C"

// glibc's second names. A program that makes a malloc of its own out of them may leave calloc to
// the library: both must be of one heap. cfree is for programs linked before glibc 2.26.
ASHLAR_SECOND_NAME(__libc_malloc, malloc);
ASHLAR_SECOND_NAME(__libc_free, free);
ASHLAR_SECOND_NAME(__libc_calloc, calloc);
ASHLAR_SECOND_NAME(__libc_realloc, realloc);
ASHLAR_SECOND_NAME(__libc_memalign, memalign);
ASHLAR_SECOND_NAME(__libc_valloc, valloc);
ASHLAR_SECOND_NAME(__libc_pvalloc, pvalloc);
ASHLAR_SECOND_NAME(cfree, free);
