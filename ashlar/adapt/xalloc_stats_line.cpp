// adapt/xalloc_stats_line.cpp: where the lines of xalloc_stats go in a program that does not say it.
// Layer: adapt. An object file of its own, so that a program's definition wins.
#include <cstdio>

#include <ashlar/adapt/xmalloc.h>

extern "C" void xalloc_stats_line(const char* line, std::size_t length) noexcept {
  // stdio, and not write(2), so that the report stands between the program's own lines in order.
  static_cast<void>(std::fwrite(line, 1, length, stdout));
}
