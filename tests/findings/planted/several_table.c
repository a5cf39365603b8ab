/* allocator: ashlar */
/* A table in C: a buffer for each look-up, rows that grow, and cells with a header before a round size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell {
  struct cell* next;
  char bytes[1024];
};

static unsigned look_up(const char* name, unsigned row) {
  char* const key = malloc(64); /* planted: temporary */
  if (key == NULL) abort();
  const int n = snprintf(key, 64, "%s:%u", name, row);
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) sum = sum * 33 + (unsigned char)key[i];
  free(key);
  return sum;
}

int main(void) {
  struct cell* cells = NULL;
  unsigned* row = NULL;
  size_t used = 0, room = 0;
  unsigned sum = 0;
  for (unsigned i = 0; i < 12000; ++i) {
    sum += look_up("a row of the table", i);
    if (used == room) {
      room += 4;
      row = realloc(row, room * sizeof *row); /* planted: growth */
      if (row == NULL) abort();
    }
    row[used++] = sum;
    if (i % 8 == 0) {
      struct cell* const c = malloc(sizeof *c); /* planted: slack */
      if (c == NULL) abort();
      memset(c, 0, sizeof *c);
      c->next = cells;
      cells = c;
    }
  }
  printf("%u\n", sum);
  return 0;
}
