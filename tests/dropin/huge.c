/* Huge blocks under full checks: what cannot be had is refused at once, and of what can be had few pages are touched.
   Faults are counted instead of time. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <tests/dropin/require.h>

static long faults(void) {
  struct rusage usage;
  REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
  return usage.ru_minflt;
}

static void refuse(void* block) {
  REQUIRE(block == NULL && errno == ENOMEM);
  errno = 0;
}

int main(void) {
  enum { times = 20, most_faults = 600 }; /* for a block: 2 MiB of it are 512 pages */
  const size_t gib = (size_t)1 << 30;
  char* zeros = calloc(1, gib);
  REQUIRE(zeros != NULL && zeros[0] == 0 && zeros[gib / 2] == 0 && zeros[gib - 1] == 0);
  free(zeros);
  char* live = malloc(100);
  for (int i = 0; i < times; ++i) {
    for (size_t less = 0; less < 1000; less += 97) {
      volatile size_t huge = (size_t)PTRDIFF_MAX - less;
      refuse(malloc(huge));
      refuse(malloc(SIZE_MAX - less));
      refuse(calloc(1, huge));
      refuse(realloc(live, huge));
      refuse(reallocarray(live, huge / 2, 2));
      refuse(memalign(4096, huge));
      refuse(aligned_alloc(64, huge));
    }
    char* block = malloc(gib + (size_t)i);
    REQUIRE(block != NULL && malloc_usable_size(block) == gib + (size_t)i);
    block[gib / 2] = 1;
    free(block);
    block = memalign(gib / 4, 100);
    REQUIRE(block != NULL && (uintptr_t)block % (gib / 4) == 0);
    free(block);
  }
  free(live);
  long all = faults();
  printf("%ld page faults\n", all);
  REQUIRE(all < (2L * times + 1) * most_faults);
  return 0;
}
