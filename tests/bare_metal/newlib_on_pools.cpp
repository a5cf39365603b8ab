// newlib's printf and other functions that allocate, on the pools of examples/cortex_m4/newlib_malloc.cpp.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <ashlar/core/fault.hpp>

#include "board/semihosting.hpp"

extern "C" {

// newlib writes through this one; what else it wants of a system is not there.
int _write(int, const char* text, int length) {  // NOLINT(bugprone-reserved-identifier)
  char line[65];
  for (int at = 0; at < length;) {
    int n = 0;
    while (n < 64 && at < length) line[n++] = text[at++];
    line[n] = 0;
    board::write(line);
  }
  return length;
}
int _read(int, char*, int) {  // NOLINT(bugprone-reserved-identifier)
  return 0;
}
int _close(int) {  // NOLINT(bugprone-reserved-identifier)
  return -1;
}
int _lseek(int, int, int) {  // NOLINT(bugprone-reserved-identifier)
  return 0;
}
int _isatty(int) {  // NOLINT(bugprone-reserved-identifier)
  return 1;
}
int _fstat(int, void*) {  // NOLINT(bugprone-reserved-identifier)
  return -1;
}

int _kill(int, int) {  // NOLINT(bugprone-reserved-identifier)
  return -1;
}
int _getpid() {  // NOLINT(bugprone-reserved-identifier)
  return 1;
}
[[noreturn]] void _exit(int status) {  // NOLINT(bugprone-reserved-identifier)
  board::exit(status);
}

void ashlar_fault(const ashlar::fault& what) noexcept {
  board::write_all("fault in ", what.pool, ": ", ashlar::describe(what.kind), "\n");
  board::exit(100);
}
}

int main() {
  std::printf("pi is %.6f, %s\n", 3.14159265, "printed from pools");
  char* const copy = static_cast<char*>(std::malloc(20));
  std::strcpy(copy, "grown by realloc");
  char* const longer = static_cast<char*>(std::realloc(copy, 100));
  std::printf("%s, moved: %s\n", longer, longer != copy ? "yes" : "no");
  auto* const zeros = static_cast<int*>(std::calloc(10, sizeof(int)));
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += zeros[i];
  std::printf("sum %d, too large: %s\n", sum, std::malloc(1025) == nullptr ? "null" : "a block");
  std::free(longer);
  std::free(zeros);
  std::fflush(stdout);
  return 0;
}
