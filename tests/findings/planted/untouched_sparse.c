/* A table by number, of which every page has an entry in use: the pages are in memory, though most bytes are not used.
   Page bits do not show that. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { entries = 1 << 20, used = entries / 256 };
  long* const table = calloc(entries, sizeof *table); /* missed: untouched */
  if (table == NULL) abort();
  for (long i = 0; i < used; ++i) table[i * 256 + 17] = i;
  long sum = 0;
  for (long i = 0; i < entries; i += 4096) sum += table[i + 17];
  printf("%ld\n", sum);
  free(table);
  return 0;
}
