// bench/hit_path.c: the smallest caller of malloc and free, for counting their instructions under
// callgrind. hit_path.py runs it with N and with 2N iterations; start-up and the first refill are
// in both and cancel out. It finds the two calls by the markers at the ends of their lines. Usage:
// hit_path SIZE COUNT [noop]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The empty asm hides where the address came from, so that the pair cannot be optimised away.
static inline void* opaque(void* block) {
  __asm__ volatile("" : "+r"(block));
  return block;
}

__attribute__((noinline)) static void hit_loop(size_t size_bytes, unsigned long count) {
  for (unsigned long i = 0; i < count; ++i) {
    void* block = malloc(size_bytes);  // counted as malloc
    block = opaque(block);
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the analyser loses the address in the asm
    free(block);  // counted as free
  }
}

// The same loop without the calls, its argument set up all the same.
__attribute__((noinline)) static void noop_loop(size_t size_bytes, unsigned long count) {
  for (unsigned long i = 0; i < count; ++i) {
    (void)opaque((void*)size_bytes);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("usage: hit_path SIZE COUNT [noop]\n", stderr);
    return 2;
  }
  const size_t size_bytes = strtoul(argv[1], NULL, 10);
  const unsigned long count = strtoul(argv[2], NULL, 10);
  if (argc > 3 && strcmp(argv[3], "noop") == 0) {
    noop_loop(size_bytes, count);
  } else {
    hit_loop(size_bytes, count);
  }
  return 0;
}
