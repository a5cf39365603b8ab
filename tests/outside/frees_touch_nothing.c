// 2,000 blocks of 100,000 bytes that nobody wrote are freed: few pages become resident.
// Editions: default hardened samples background
#include "outside.h"

int main(void) {
  static char* blocks[2000];
  for (int i = 0; i < 2000; ++i) CHECK((blocks[i] = (char*)malloc(100000)) != NULL);
  for (int i = 0; i < 2000; ++i) free(blocks[i]);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("touched little: %d\n", used.ru_maxrss < 64 * 1024);
}
