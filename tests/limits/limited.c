// A program that takes memory until there is none.
//   limited MIB          takes blocks of 256 KiB, at most MIB, and tells how much it got and why no more
//   limited MIB drop     the same with a cache of 24 MiB, which it drops when it is asked to
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block_bytes = 256 * 1024, cached_max = 96, blocks_max = 4096 };
static void* cached[cached_max];
static int calls, dropped;

// What holds most: the line of the end names it.
__attribute__((noinline)) void* hold_most(size_t size) {
  void* block = malloc(size);
  return block != NULL ? memset(block, 1, size) : NULL;
}

static void drop(size_t bytes_to_drop, void* argument) {
  ++*(int*)argument;
  for (size_t freed = 0; freed < bytes_to_drop && dropped != cached_max; freed += block_bytes)
    free(cached[dropped++]);
}

int main(int count, char** words) {
  static void* held[blocks_max];
  const int most = count > 1 ? atoi(words[1]) * (1024 * 1024 / block_bytes) : 0;
  if (count > 2) {
    int (*on_limit)(void (*)(size_t, void*), void*, unsigned) = NULL;
    *(void**)&on_limit = dlsym(RTLD_DEFAULT, "ashlar_on_limit");
    if (on_limit == NULL || on_limit(drop, &calls, 0) != 0) return 2;
    for (int i = 0; i < cached_max; ++i) cached[i] = hold_most(block_bytes);
  }
  int got = 0;
  errno = 0;
  while (got < most && got < blocks_max && (held[got] = hold_most(block_bytes)) != NULL) ++got;
  printf("got %d MiB: %s\n", got / 4, errno != 0 ? strerror(errno) : "all");
  if (count > 2) printf("called %d times, dropped %d MiB\n", calls, dropped / 4);
  fflush(stdout);
  for (int i = 0; i < got; ++i) free(held[i]);
  free(hold_most(block_bytes * 4));
  return 0;
}
