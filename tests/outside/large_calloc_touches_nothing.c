// calloc of a gibibyte, 200 times, and of many long blocks at once, in what was freed: few pages
// become resident, and all are zero.
// Editions: default full hardened samples background
#include "outside.h"

int main(void) {
  for (int i = 0; i < 200; ++i) {
    char* block = (char*)calloc(1, (size_t)1 << 30);
    CHECK(block != NULL && block[(size_t)i << 20] == 0);
    block[(size_t)i << 20] = 1;
    free(block);
  }
  char* many[20];
  for (int i = 0; i < 20; ++i) {
    many[i] = (char*)calloc(100, 400000);
    CHECK(many[i] != NULL);
    for (int k = 0; k < 40000000; k += 1000003) CHECK(many[i][k] == 0);
  }
  for (int i = 0; i < 20; ++i) free(many[i]);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("touched little: %d\n", used.ru_maxrss < 64 * 1024);
}
