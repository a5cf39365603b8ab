// The programs of one file: the one whose name is the argument runs.
#pragma once
#include <stddef.h>
#include <string.h>

struct program {
  const char* name;
  void (*run)(void);
};

// Returns: the status of the process; 2 where there is no such program.
static inline int run_program(int argc, char** argv, const struct program* programs, size_t count) {
  for (size_t i = 0; argc == 2 && i < count; ++i) {
    if (strcmp(programs[i].name, argv[1]) != 0) continue;
    programs[i].run();
    return 0;
  }
  return 2;
}
