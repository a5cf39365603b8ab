// support/modes.hpp: a program with several modes, one of which its first argument names.
#pragma once

#include <cstdio>
#include <cstring>

namespace support {

struct mode {
  const char* name;
  int (*run)();
};

template <std::size_t Count>
int run_mode(const mode (&modes)[Count], int argument_count, char** arguments) {
  if (argument_count > 1) {
    for (const mode& m : modes) {
      if (std::strcmp(m.name, arguments[1]) == 0) return m.run();
    }
  }
  std::fprintf(stderr, "usage: %s MODE, one of:", arguments[0]);
  for (const mode& m : modes) std::fprintf(stderr, " %s", m.name);
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace support
