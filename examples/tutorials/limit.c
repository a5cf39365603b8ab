/* Takes memory until there is none. docs/how-to/keep-within-a-limit.md runs it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block_bytes = 256 * 1024, blocks_max = 1024 };

__attribute__((noinline)) void* take(void) {
  void* block = malloc(block_bytes);
  return block != NULL ? memset(block, 1, block_bytes) : NULL;
}

int main(void) {
  int got = 0;
  while (got < blocks_max && take() != NULL) ++got;
  printf("got %d MiB: %s\n", got / 4, strerror(errno));
  return 0;
}
