/* A cache with a bound, and a table that is loaded in the first third: neither grows for ever. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char* filled(size_t bytes) {
  char* const block = malloc(bytes);
  if (block == NULL) abort();
  memset(block, 'x', bytes);
  return block;
}

int main(void) {
  static char* cache[60];
  static char* table[300];
  for (int i = 0; i < 300; ++i) {
    if (i < 100) table[i] = filled(2000 + (size_t)i % 5);
    free(cache[i % 60]);
    cache[i % 60] = filled(3000 + (size_t)i % 7);
    usleep(8000);
  }
  printf("%c%c\n", cache[0][0], table[0][0]);
  return 0;
}
