/* Reserves that are not worth a change: a few hundred KiB beside a program that holds much more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  enum { rows = 64, row_bytes = 256 << 10 };
  char* all[rows];
  for (int i = 0; i < rows; ++i) {
    all[i] = malloc(row_bytes);
    if (all[i] == NULL) abort();
    memset(all[i], i, row_bytes);
  }
  char* const names = malloc(512 << 10);
  char* const input = malloc(256 << 10);
  if (names == NULL || input == NULL) abort();
  strcpy(names, "a name");
  strcpy(input, "a line of input");
  printf("%d %s %s\n", all[rows - 1][100], names, input);
  for (int i = 0; i < rows; ++i) free(all[i]);
  free(input);
  free(names);
  return 0;
}
