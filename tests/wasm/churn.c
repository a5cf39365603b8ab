/* What malloc_speed.mjs measures: blocks of 16 to 528 bytes, 4000 at a time, each replaced at random. */
#include <stdlib.h>

int main(void) {
  static void* blocks[4000];
  unsigned state = 1;
  for (int i = 0; i < 3000000; ++i) {
    state = state * 1664525u + 1013904223u;
    void** const block = &blocks[(state >> 16) % 4000];
    free(*block);
    *block = malloc(16 + (state >> 8) % 512);
    if (*block == NULL) return 1;
    *(volatile char*)*block = 1;
  }
  return 0;
}
