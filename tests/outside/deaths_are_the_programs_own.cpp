// A program's way to die stays its own: each signal by its default action, abort, an uncaught
// exception, exit in a child.
#include <stdexcept>
#include <thread>

#include "outside.h"

static volatile int* nowhere = nullptr;
static int recursion(volatile char* above) {
  volatile char room[10000];
  room[5] = above[0];
  return recursion(room) + room[5];
}

int main() {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (int i = 0; i < 10; ++i) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      use_heap(static_cast<unsigned>(i), 200);
      std::fclose(stderr);
      close(2);
      volatile char first = 0;
      if (i == 0) *nowhere = 1;
      if (i == 1) std::abort();
      if (i == 2) __builtin_trap();
      if (i == 3) throw std::runtime_error("nobody catches this");
      if (i == 4) recursion(&first);
      if (i == 5) raise(SIGTERM);
      if (i == 6) std::thread([] { *nowhere = 1; }).join();
      if (i == 7) std::thread([] { std::exit(31); }).join();
      if (i == 8) std::quick_exit(32);
      *reinterpret_cast<volatile int*>(uintptr_t{0x7000'0000'0000'0000}) = 1;
    }
    printf("%d: %d\n", i, wait_for(child));
  }
}
