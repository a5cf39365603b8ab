/* tests/attach/planted.c: says "ready", then does what its standard input asks for, a line each:
 * "leak N": loses N blocks of 1000 bytes; "free": frees what it had before; "end". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* early[100];
static void* volatile lost;

void lose(int count) {
  for (int i = 0; i < count; ++i) lost = malloc(1000);
}

int main(void) {
  char line[64];
  for (int i = 0; i < 100; ++i) early[i] = malloc(5000);
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strncmp(line, "leak ", 5) == 0) lose(atoi(line + 5));
    if (strcmp(line, "free\n") == 0)
      for (int i = 0; i < 100; ++i) free(early[i]);
    if (strcmp(line, "end\n") == 0) return 7;
    printf("done\n");
    fflush(stdout);
  }
  return 0;
}
