// support/malloc_calls.hpp: every function of the malloc family and every operator new and delete, as tables.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include <malloc.h>

// C23: the drop-in library has them, also where the C library has not.
extern "C" {
[[gnu::weak]] void free_sized(void* p, std::size_t size);
[[gnu::weak]] void free_aligned_sized(void* p, std::size_t alignment, std::size_t size);
}

namespace malloc_calls {

using size = std::size_t;
constexpr size bytes = 40;
constexpr auto wide = std::align_val_t{64};

/// What allocates, and what ends it.
struct allocation {
  const char* name;
  void* (*make)();
  void (*end)(void*);
  size room;  ///< bytes that the caller may use
};

inline void end_free(void* p) { std::free(p); }
inline void end_delete(void* p) { operator delete(p); }
inline void end_delete_array(void* p) { operator delete[](p); }
inline void end_delete_wide(void* p) { operator delete(p, wide); }
inline void end_delete_array_wide(void* p) { operator delete[](p, wide); }

inline void* grown_from(void* p, size n) { return std::realloc(p, n); }
inline void* by_posix_memalign() {
  void* p = nullptr;
  return ::posix_memalign(&p, 64, bytes) == 0 ? p : nullptr;
}

inline const allocation allocations[] = {
    {"malloc", [] { return std::malloc(bytes); }, end_free, bytes},
    {"calloc", [] { return std::calloc(4, bytes / 4); }, end_free, bytes},
    {"realloc", [] { return std::realloc(nullptr, bytes); }, end_free, bytes},
    {"realloc_of_a_block", [] { return grown_from(std::malloc(3), bytes); }, end_free, bytes},
    {"reallocarray", [] { return ::reallocarray(nullptr, 4, bytes / 4); }, end_free, bytes},
    {"reallocarray_of_a_block", [] { return ::reallocarray(std::malloc(3), 4, bytes / 4); },
     end_free, bytes},
    {"posix_memalign", by_posix_memalign, end_free, bytes},
    {"aligned_alloc", [] { return std::aligned_alloc(64, bytes); }, end_free, bytes},
    {"memalign", [] { return ::memalign(64, bytes); }, end_free, bytes},
    {"valloc", [] { return ::valloc(bytes); }, end_free, bytes},
    {"pvalloc", [] { return ::pvalloc(bytes); }, end_free, 4096},
    {"new", [] { return operator new(bytes); }, end_delete, bytes},
    {"new_array", [] { return operator new[](bytes); }, end_delete_array, bytes},
    {"new_nothrow", [] { return operator new(bytes, std::nothrow); }, end_delete, bytes},
    {"new_array_nothrow", [] { return operator new[](bytes, std::nothrow); }, end_delete_array,
     bytes},
    {"new_aligned", [] { return operator new(bytes, wide); }, end_delete_wide, bytes},
    {"new_array_aligned", [] { return operator new[](bytes, wide); }, end_delete_array_wide, bytes},
    {"new_aligned_nothrow", [] { return operator new(bytes, wide, std::nothrow); }, end_delete_wide,
     bytes},
    {"new_array_aligned_nothrow", [] { return operator new[](bytes, wide, std::nothrow); },
     end_delete_array_wide, bytes},
};

/// What frees, and what makes a block for it.
struct deallocation {
  const char* name;
  void* (*make)();
  void (*end)(void*);
};

inline void* make_malloc() { return std::malloc(bytes); }
inline void* make_new() { return operator new(bytes); }
inline void* make_new_array() { return operator new[](bytes); }
inline void* make_new_wide() { return operator new(bytes, wide); }
inline void* make_new_array_wide() { return operator new[](bytes, wide); }

inline const deallocation deallocations[] = {
    {"free", make_malloc, end_free},
    {"free_sized", make_malloc, [](void* p) { ::free_sized(p, bytes); }},
    {"free_aligned_sized", [] { return std::aligned_alloc(64, bytes); },
     [](void* p) { ::free_aligned_sized(p, 64, bytes); }},
    {"realloc_away", make_malloc, [](void* p) { std::free(std::realloc(p, 100 * bytes)); }},
    {"reallocarray_away", make_malloc, [](void* p) { std::free(::reallocarray(p, 100, bytes)); }},
    {"delete", make_new, end_delete},
    {"delete_array", make_new_array, end_delete_array},
    {"delete_sized", make_new, [](void* p) { operator delete(p, bytes); }},
    {"delete_array_sized", make_new_array, [](void* p) { operator delete[](p, bytes); }},
    {"delete_nothrow", make_new, [](void* p) { operator delete(p, std::nothrow); }},
    {"delete_array_nothrow", make_new_array, [](void* p) { operator delete[](p, std::nothrow); }},
    {"delete_aligned", make_new_wide, end_delete_wide},
    {"delete_array_aligned", make_new_array_wide, end_delete_array_wide},
    {"delete_sized_aligned", make_new_wide, [](void* p) { operator delete(p, bytes, wide); }},
    {"delete_array_sized_aligned", make_new_array_wide,
     [](void* p) { operator delete[](p, bytes, wide); }},
    {"delete_aligned_nothrow", make_new_wide,
     [](void* p) { operator delete(p, wide, std::nothrow); }},
    {"delete_array_aligned_nothrow", make_new_array_wide,
     [](void* p) { operator delete[](p, wide, std::nothrow); }},
};

}  // namespace malloc_calls
