// support/face.hpp: one program text for two faces of the heap.
// With ASHLAR_FACE_DROP_IN the names are the malloc family's (the program runs on the preloaded
// library and does not link ashlar); without it they are the C face's.
#pragma once

#include <cstddef>
#include <cstdlib>

#ifdef ASHLAR_FACE_DROP_IN
#include <tests/support/glibc_names.h>
#else
#include <ashlar/ashlar.h>
#endif

namespace face {

#ifdef ASHLAR_FACE_DROP_IN
inline constexpr bool drop_in = true;
inline void* allocate(std::size_t size) { return ::malloc(size); }
inline void* allocate_zeroed(std::size_t count, std::size_t size) { return ::calloc(count, size); }
inline void* reallocate(void* block, std::size_t size) { return ::realloc(block, size); }
inline void* allocate_aligned(std::size_t alignment, std::size_t size) {
  return ::aligned_alloc(alignment, size);
}
inline void release(void* block) { ::free(block); }
inline std::size_t usable_size(void* block) { return ::malloc_usable_size(block); }
inline void trim() { ::malloc_trim(0); }
#else
inline constexpr bool drop_in = false;
inline void* allocate(std::size_t size) { return ::xmalloc(size); }
inline void* allocate_zeroed(std::size_t count, std::size_t size) { return ::xcalloc(count, size); }
inline void* reallocate(void* block, std::size_t size) { return ::xrealloc(block, size); }
inline void* allocate_aligned(std::size_t alignment, std::size_t size) {
  return ::xaligned_alloc(alignment, size);
}
inline void release(void* block) { ::xfree(block); }
inline std::size_t usable_size(void* block) { return ::xusable_size(block); }
inline void trim() { ::ashlar_trim(); }
#endif

}  // namespace face
