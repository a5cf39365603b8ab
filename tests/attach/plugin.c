/* What tests/attach's program loads while it runs. */
#include <stdlib.h>
#include <string.h>

unsigned long plugin_work(unsigned long seed) {
  unsigned long sum = 0;
  for (unsigned i = 0; i < 64; ++i) {
    unsigned char* const block = malloc(4000 + i);
    memset(block, (int)(seed + i), 4000 + i);
    sum = sum * 31 + block[i] + block[3999];
    free(block);
  }
  return sum;
}
