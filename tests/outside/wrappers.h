// wrappers.h: functions of the program that stand before the C library's of the same names, as a
// profiler's or a recorder's do, and that allocate and free before they pass the call on.
#ifndef TESTS_OUTSIDE_WRAPPERS_H
#define TESTS_OUTSIDE_WRAPPERS_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static __thread int wrapper_depth;

static void wrapper_allocates(void) {
  if (wrapper_depth != 0) return;  // a wrapper is not called by itself
  ++wrapper_depth;
  static _Atomic size_t calls;
  const size_t n = calls++;
  char* volatile small = malloc(n % 500 + 1);
  char* volatile large = malloc(150000);
  small[0] = large[0] = 1;
  small = realloc(small, n % 3000 + 1);
  char* volatile zero = calloc(n % 90 + 1, 1);
  free(large);
  free(zero);
  free(small);
  --wrapper_depth;
}

#define WRAPPER_NEXT(name)                                    \
  static __typeof__(&name) next;                              \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name); \
  wrapper_allocates()

static void* wrapper_thread(void* p) {
  for (int i = 0; i < 3000; ++i) free(realloc(malloc((size_t)(i % 700)), (size_t)(i % 2000)));
  free(malloc(3000000));
  return p;
}

// Effects: calls malloc's family so that the heap asks the system for pages and gives them back.
static void wrapper_use_heap(void) {
  enum { count = 3000 };
  static char* block[count];
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < count; ++i)
      memset(block[i] = malloc((size_t)(i * 13 % 3000 + 1)), 1, (size_t)(i * 13 % 3000 + 1));
    for (int i = 0; i < count; ++i) free(block[i]);
    char* large = NULL;
    for (size_t bytes = 100000; bytes < 9000000; bytes *= 2)
      memset(large = realloc(large, bytes), 1, bytes);
    free(realloc(large, 200000));
  }
  pthread_t t;
  pthread_create(&t, NULL, wrapper_thread, NULL);
  pthread_join(t, NULL);
}

#endif
