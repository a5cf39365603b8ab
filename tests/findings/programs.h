// Programs of one file: PROGRAM(name) { ... } runs where the argument is its name.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
  const char* name;
  void (*run)(void);
};
static struct program programs[64];
static int program_count;

#define PROGRAM(name)                                         \
  static void name(void);                                     \
  __attribute__((constructor)) static void add_##name(void) { \
    const struct program added = {#name, name};               \
    programs[program_count++] = added;                        \
  }                                                           \
  static void name(void)

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

// Returns: the status of the process; 2 where there is no such program.
int main(int argc, char** argv) {
  for (int i = 0; argc == 2 && i < program_count; ++i) {
    if (strcmp(programs[i].name, argv[1]) != 0) continue;
    programs[i].run();
    if (getenv("RESIDENT") != NULL) tell_resident();
    return 0;
  }
  return 2;
}
