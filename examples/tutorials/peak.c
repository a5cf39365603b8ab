#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Resident memory in MiB, from the kernel. */
static long resident_mib(void) {
  long pages = 0;
  FILE* const f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1) return -1;
  fclose(f);
  return pages * sysconf(_SC_PAGESIZE) >> 20;
}

int main(void) {
  enum { count = 100000 };
  static void* blocks[count];
  for (int i = 0; i < count; ++i) memset(blocks[i] = malloc(1000), 1, 1000);
  printf("peak %ld MiB\n", resident_mib());
  for (int i = 0; i < count; ++i) free(blocks[i]);
  printf("all freed %ld MiB\n", resident_mib());
  sleep(5);
  printf("after 5 s %ld MiB\n", resident_mib());
  malloc_trim(0);
  printf("after malloc_trim %ld MiB\n", resident_mib());
  return 0;
}
