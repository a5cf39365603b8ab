// What the programs of findings share: a block that is there, and a look at their memory at the end.
#pragma once
#include <stdlib.h>
#define PROGRAMS_WITHOUT_MAIN
#include <tests/support/programs.h>

// Returns: the block, which is there.
__attribute__((unused)) static inline void* got(void* block) {
  if (block == NULL) abort();
  return block;
}

// Prints on standard error, where the environment has RESIDENT, what is in memory at the end.
static void tell_resident(void) {
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "VmRSS:", 6) == 0) fputs(line, stderr);
}

int main(int argc, char** argv) {
  const int status = run_program(argc == 2 ? argv[1] : NULL);
  if (getenv("RESIDENT") != NULL) tell_resident();
  return status;
}
