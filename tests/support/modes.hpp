// support/modes.hpp: a program with several modes, one of which its first argument names: MODE(name) { ... return 0; }.
// The program's main is here, unless MODES_WITHOUT_MAIN says that it has its own.
#pragma once

#include <cstdio>
#include <cstring>

namespace support {

/// Each is in the list of all as soon as it is made.
struct mode {
  mode(const char* called, int (*runs)()) : name(called), run(runs), next(first) { first = this; }
  const char* name;
  int (*run)();
  const mode* next;
  static inline const mode* first = nullptr;
};
#define MODE(name)                              \
  int name();                                   \
  const support::mode mode_##name(#name, name); \
  int name()

inline int run_mode(int argument_count, char** arguments) {
  for (const mode* m = mode::first; argument_count > 1 && m != nullptr; m = m->next)
    if (std::strcmp(m->name, arguments[1]) == 0) return m->run();
  std::fprintf(stderr, "usage: %s MODE, one of:", arguments[0]);
  for (const mode* m = mode::first; m != nullptr; m = m->next) std::fprintf(stderr, " %s", m->name);
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace support

#ifndef MODES_WITHOUT_MAIN
int main(int argument_count, char** arguments) {
  return support::run_mode(argument_count, arguments);
}
#endif
