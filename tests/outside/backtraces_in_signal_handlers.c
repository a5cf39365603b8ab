// A signal handler that interrupted malloc asks for a backtrace and aborts, as crash reporters do: the process ends by
// SIGABRT, wherever it was interrupted.
#include "outside.h"

static void report(int s) {
  void* frames[60];
  const int found = backtrace(frames, 60);
  if (found < 2) _exit(3);
  backtrace_symbols_fd(frames, found, 2);
  abort();
}

static void work(void) {
  static void* b[200];
  unsigned s = 1;
  for (;;) {
    s = s * 1103515245 + 12345;
    const int k = (s >> 8) % 200;
    const unsigned kind = (s >> 17) % 16;
    const size_t size = (s >> 4) % (kind == 0  ? 3000000
                                    : kind < 4 ? 200000
                                    : kind < 8 ? 20000
                                               : 300) +
                        1;
    if ((s >> 25) % 2 != 0) {
      b[k] = realloc(b[k], size);
    } else {
      free(b[k]);
      b[k] = malloc(size);
    }
    *(char*)b[k] = 1;
  }
}

int main(void) {
  void* warm[4];
  backtrace(warm, 4);  // its first call loads a library
  unsigned aborted = 0, other = 0;
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      struct sigaction act = {.sa_handler = report};
      sigaction(SIGPROF, &act, 0);
      const struct itimerval soon = {{0, 0}, {0, 500 + 137 * i}};
      setitimer(ITIMER_PROF, &soon, 0);
      work();
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
      ++aborted;
    else
      ++other, fprintf(stderr, "child %d: status %d\n", i, status);
  }
  printf("%u children ended by SIGABRT, %u otherwise\n", aborted, other);
}
