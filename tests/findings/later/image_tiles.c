/* allocator: ashlar */
/* Tiles of an image: each has its pixels and a row of pointers, and a list of them grows by one at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tile {
  int x, y;
  unsigned char pixels[2048];
};

int main(void) {
  struct tile** tiles = NULL;
  size_t count = 0;
  for (int y = 0; y < 40; ++y)
    for (int x = 0; x < 40; ++x) {
      struct tile** const more = realloc(tiles, (count + 1) * sizeof *tiles); /* planted: growth */
      if (more == NULL) abort();
      tiles = more;
      tiles[count] = malloc(sizeof **tiles); /* planted: slack */
      if (tiles[count] == NULL) abort();
      memset(tiles[count], 0, sizeof **tiles);
      tiles[count]->x = x;
      tiles[count++]->y = y;
    }
  printf("%zu\n", count);
  return 0;
}
