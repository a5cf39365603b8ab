/* support/glibc_names.h: glibc's own names of the malloc family, for programs that run on the drop-in library.
 * Another C library, or an older glibc, neither declares nor has them: there the drop-in library is asked while the
 * program runs. */
#pragma once

#include <malloc.h>
#include <stddef.h>
#ifndef __GLIBC__
#include <dlfcn.h>
#include <string.h>

static inline void* pvalloc(size_t size) {
  void* const found = dlsym(RTLD_DEFAULT, "pvalloc");
  void* (*function)(size_t);
  memcpy(&function, &found, sizeof function);
  return function(size);
}
static inline int malloc_trim(size_t padding) {
  void* const found = dlsym(RTLD_DEFAULT, "malloc_trim");
  int (*function)(size_t);
  memcpy(&function, &found, sizeof function);
  return function(padding);
}
#elif !__GLIBC_PREREQ(2, 26)
#include <dlfcn.h>
#include <string.h>

static inline void* reallocarray(void* block, size_t count, size_t size) {
  void* const found = dlsym(RTLD_DEFAULT, "reallocarray");
  void* (*function)(void*, size_t, size_t);
  memcpy(&function, &found, sizeof function);
  return function(block, count, size);
}
#endif
