// What several of these programs need. A failed check is a line on standard output, which no
// edition may have.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) \
  ((what) ? (void)0 : (printf("line %d: not so: %s\n", __LINE__, #what), fflush(stdout), _exit(3)))

// Returns: the process's memory that is resident, in KiB.
static inline long resident_kib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
// Effects: allocates and frees `count` blocks of many sizes, and checks what is in them.
static inline void use_heap(unsigned seed, int count) {
  unsigned char* held[32] = {0};
  unsigned size[32] = {0};
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    const unsigned k = seed >> 27;
    if (held[k] != NULL) CHECK(held[k][0] == k && held[k][size[k] - 1] == k);
    free(held[k]);
    size[k] = (seed >> 8) % 64 == 0 ? 1 + (seed >> 8) % 300000 : 1 + (seed >> 8) % 2000;
    held[k] = (unsigned char*)malloc(size[k]);
    CHECK(held[k] != NULL);
    held[k][0] = held[k][size[k] - 1] = (unsigned char)k;
  }
  for (int k = 0; k < 32; ++k) free(held[k]);
}
// Returns: the status of a child as a program sees it: the exit status, or 128 and the signal.
static inline int wait_for(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
