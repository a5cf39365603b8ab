// Forks that run no handlers, as sandboxes and runtimes make them: _Fork, the system calls fork and
// clone. The process has one thread, so its child may allocate.
#include <linux/sched.h>

#include "outside.h"

int main(void) {
  char* kept = strdup("kept");
  for (int i = 0; i < 60; ++i) {
    use_heap((unsigned)i, 50);
    struct clone_args args = {.exit_signal = SIGCHLD};
    pid_t child = i % 3 == 0   ? _Fork()
                  : i % 3 == 1 ? (pid_t)syscall(SYS_fork)
                               : (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (child == 0) {
      CHECK(strcmp(kept, "kept") == 0);
      free(kept);
      use_heap((unsigned)i, 300);
      pid_t again = fork();
      if (again == 0) use_heap(1, 50), _exit(2);
      _exit(wait_for(again) + 2);
    }
    CHECK(wait_for(child) == 4);
  }
  puts(kept);
}
