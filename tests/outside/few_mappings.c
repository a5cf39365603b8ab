// Many large blocks, every second one freed, again and again: the number of mappings stays far
// below what a process may have.
// Editions: default full hardened samples background
#include "outside.h"

static int mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char* line = NULL;
  size_t room = 0;
  int n = 0;
  while (getline(&line, &room, maps) > 0) ++n;
  free(line);
  fclose(maps);
  return n;
}

int main(void) {
  enum { blocks = 4000 };
  static char* all[blocks];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < blocks; ++i) {
      if (all[i] != NULL) continue;
      all[i] = (char*)malloc(4096 + (size_t)(i * 7919 % 120000));
      *all[i] = 1;
    }
    for (int i = round % 2; i < blocks; i += 2) free(all[i]), all[i] = NULL;
    malloc_trim(0);
  }
  printf("few: %d\n", mappings() < 8000);
}
