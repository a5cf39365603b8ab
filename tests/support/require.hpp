// support/require.hpp: checks of programs that cannot use a test framework: they run before main,
// after it, in a forked child or out of memory. A failing check ends the process. And the headers
// that most of them have.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

// The message is written without allocating; stderr is not buffered.
#define REQUIRE(...)                                                                             \
  do {                                                                                           \
    if (!(__VA_ARGS__)) {                                                                        \
      std::fprintf(stderr, "%s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #__VA_ARGS__, \
                   errno);                                                                       \
      std::abort();                                                                              \
    }                                                                                            \
  } while (false)
