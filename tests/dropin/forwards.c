/* Preloaded before the drop-in library: malloc and free of the program come here first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void* malloc(size_t size) {
  static void* (*next)(size_t);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "malloc");
  return next(size);
}

void free(void* block) {
  static void (*next)(void*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "free");
  next(block);
}
