/* A join of two tables: one is hashed into a table of twice as many places as it has rows, the other one looks there. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 150000, places = 1 << 19 };

struct row {
  uint32_t key;
  uint32_t value;
};

static uint32_t place_of(uint32_t key) {
  return key * 2654435761u >> 13;
}

int main(void) {
  struct row* const left = malloc(rows * sizeof *left);
  struct row* const hashed = calloc(places, sizeof *hashed);
  char* const output = malloc(1 << 20);
  if (left == NULL || hashed == NULL || output == NULL) abort();
  for (uint32_t i = 0; i < rows; ++i) left[i] = (struct row){i * 37 + 1, i};
  for (uint32_t i = 0; i < rows; ++i) {
    uint32_t place = place_of(left[i].key);
    while (hashed[place].key != 0) place = (place + 1) % places;
    hashed[place] = left[i];
  }
  size_t used = 0;
  long sum = 0;
  for (uint32_t key = 1; key < 2000000; key += 3) {
    uint32_t place = place_of(key);
    while (hashed[place].key != 0 && hashed[place].key != key) place = (place + 1) % places;
    if (hashed[place].key == 0) continue;
    if (used + 16 < 1 << 20) used += (size_t)snprintf(output + used, 16, "%u ", (unsigned)key);
    sum += hashed[place].value;
  }
  printf("%ld, %zu bytes, %.20s\n", sum, used, output);
  free(output);
  free(hashed);
  free(left);
  return 0;
}
