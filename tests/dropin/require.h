/* What C programs need to say that something must hold, and the headers that most of them have. */
#ifndef ASHLAR_TESTS_DROPIN_REQUIRE_H
#define ASHLAR_TESTS_DROPIN_REQUIRE_H

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                        \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      abort();                                                                                    \
    }                                                                                             \
  } while (0)

/* Requests that must fail are hidden from the compiler, which would warn. */
static inline size_t opaque(size_t size) {
  volatile size_t hidden = size;
  return hidden;
}
/* So are blocks that were freed and are looked at all the same. */
static inline void* laundered(void* block) {
  void* volatile hidden = block;
  return hidden;
}

#endif
