// support/programs.h: several programs in one C or C++ file: PROGRAM(name) { ... } runs where the first argument is its
// name, and has status 0 unless it exits itself. The file's main is here, unless PROGRAMS_WITHOUT_MAIN says that it has
// its own.
#pragma once
#include <stdio.h>
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

// Effects: runs the program of that name; where there is none, names all on standard error. Returns: the process's status.
__attribute__((unused)) static int run_program(const char* name) {
  for (int i = 0; name != NULL && i < program_count; ++i) {
    if (strcmp(programs[i].name, name) != 0) continue;
    programs[i].run();
    return 0;
  }
  for (int i = 0; i < program_count; ++i) fprintf(stderr, "%s\n", programs[i].name);
  return 2;
}

#ifndef PROGRAMS_WITHOUT_MAIN
int main(int count, char** arguments) { return run_program(count > 1 ? arguments[1] : NULL); }
#endif
