// Other programs started from a process whose threads are inside the heap, without fork's handlers:
// by vfork, by posix_spawn, and in the process's own place.
#define MODES_WITHOUT_MAIN
#include <cstdlib>
#include <string>
#include <tests/lifetime/busy.hpp>
#include <tests/support/face.hpp>
#include <tests/support/modes.hpp>
#include <tests/support/require.hpp>
#include <tests/support/sanitizers.hpp>
#include <thread>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int count = support::sanitized ? 20 : 100;
constexpr int offspring_status = 42;

char own_path[4096];
char offspring_mode[] = "offspring";
char* const offspring_arguments[] = {own_path, offspring_mode, nullptr};

MODE(offspring) {
  busy::use_every_path(1, 600);
  return offspring_status;
}

void wait_for(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == offspring_status);
}

[[gnu::noinline]] pid_t vfork_and_exec() {
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execve(own_path, offspring_arguments, environ);
    ::_exit(1);
  }
  return child;
}

/// Effects: starts and awaits programs, by two threads at once, beside three busy ones. What the
/// parent has stays whole.
int start_many(pid_t (*start)()) {
  const busy::threads others(3);
  const auto start_some = [start] {
    for (int i = 0; i < count / 2; ++i) {
      busy::use_every_path(static_cast<std::uint64_t>(i), 200);
      const pid_t child = start();
      REQUIRE(child > 0);
      wait_for(child);
    }
  };
  std::thread second(start_some);
  start_some();
  second.join();
  return 0;
}

MODE(vfork_exec) {
  return start_many(vfork_and_exec);
}

MODE(spawn) {
  return start_many([] {
    pid_t child = 0;
    REQUIRE(::posix_spawn(&child, own_path, nullptr, nullptr, offspring_arguments, environ) == 0);
    return child;
  });
}

// The program is replaced, by another thread than the first, while the others are in the heap.
MODE(exec_while_busy) {
  for (int i = 0; i < count / 5; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const busy::threads others(3);
      std::thread([] {
        ::usleep(3'000);
        ::execve(own_path, offspring_arguments, environ);
        ::_exit(1);
      }).join();
    }
    wait_for(child);
  }
  return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const auto length = ::readlink("/proc/self/exe", own_path, sizeof own_path - 1);
  REQUIRE(length > 0);
  own_path[length] = '\0';
  return support::run_mode(argument_count, arguments);
}
