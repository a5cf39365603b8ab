// A peak of 160 MB in small and large blocks of main, which four threads free. After malloc_trim
// the memory is back. (Full checks keep their records of blocks.)
// Editions: default hardened samples background
#include "outside.h"

enum { threads = 4, blocks = 60000 };
static char* held[threads][blocks];

static void* body(void* p) {
  char** mine = held[(size_t)p];
  for (int i = 0; i < blocks; ++i) free(mine[i]);
  return p;
}

int main(void) {
  for (int i = 0; i < threads * blocks; ++i) {
    size_t size = i % 500 == 0 ? 100000 : 16 + (size_t)(i * 7919 % 900);
    held[i % threads][i / threads] = (char*)memset(malloc(size), 1, size);
  }
  long peak = resident_kib();
  run_threads(threads, body);
  malloc_trim(0);
  printf("peak %d, back %d\n", peak > 120 * 1024, resident_kib() < 80 * 1024);
}
