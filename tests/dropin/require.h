/* What the C programs of this folder need to say that something must hold. */
#ifndef ASHLAR_TESTS_DROPIN_REQUIRE_H
#define ASHLAR_TESTS_DROPIN_REQUIRE_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

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
