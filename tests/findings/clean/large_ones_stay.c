/* What stays are whole pages: each keeps itself, and nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  enum { rows = 30000, tiles = 600 };
  static char* row_of[rows];
  static char* tile_of[tiles];
  for (int i = 0; i < rows; ++i) {
    const size_t size = 120 + (size_t)i % 21 * 10;
    row_of[i] = malloc(size);
    if (row_of[i] == NULL) abort();
    memset(row_of[i], 1, size);
    if (i % 50 != 0) continue;
    char** const tile = &tile_of[i / 50];
    *tile = aligned_alloc(4096, 4096 + (size_t)i % 3 * 4096);
    if (*tile == NULL) abort();
    memset(*tile, 2, 4096);
  }
  long sum = 0;
  for (int i = 0; i < rows; ++i) {
    sum += row_of[i][0];
    free(row_of[i]);
  }
  for (int round = 0; round < 3000; ++round)
    for (int i = 0; i < tiles; ++i) sum += tile_of[i][round];
  printf("%ld\n", sum);
  return 0;
}
