/* Coroutines with a stack each of the size of a thread's, of which they use little. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { coroutines = 24, stack_bytes = 1 << 20 };

static long run(char* stack, int depth) {
  memset(stack + stack_bytes - depth, depth & 127, (size_t)depth); /* from the top down */
  return stack[stack_bytes - 1];
}

int main(void) {
  char* stacks[coroutines];
  long sum = 0;
  for (int i = 0; i < coroutines; ++i) {
    stacks[i] = aligned_alloc(4096, stack_bytes); /* planted: untouched */
    if (stacks[i] == NULL) abort();
  }
  for (int round = 1; round <= 20; ++round)
    for (int i = 0; i < coroutines; ++i) sum += run(stacks[i], 400 * round);
  for (int i = 0; i < coroutines; ++i) free(stacks[i]);
  printf("%ld\n", sum);
  return 0;
}
