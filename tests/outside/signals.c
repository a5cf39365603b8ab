// Signals and their handlers. Usage: outside_signals NAME
#include <tests/support/programs.h>

#include "outside.h"

// backtraces_in_signal_handlers: A signal handler that interrupted malloc asks for a backtrace and aborts, as crash reporters do: the process ends by SIGABRT, wherever it was interrupted.
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

PROGRAM(backtraces_in_signal_handlers) {
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

// stack_overflows_are_survived: A stack runs over; the handler, on an alternate stack of malloc, allocates and jumps out. Many times, in two threads.
static __thread sigjmp_buf back;
static __thread char* note;

static void handler_survived(int s, siginfo_t* info, void* context) {
  free(note);
  note = strdup("the stack ran over");
  use_heap(5, 20);
  siglongjmp(back, s);
}
static int deeper(volatile char* above) {
  volatile char room[4096];
  room[0] = above[0];
  return deeper(room) + room[0];
}
static void* body_survived(void* p) {
  stack_t other = {.ss_sp = malloc(64 * 1024), .ss_size = 64 * 1024};
  CHECK(sigaltstack(&other, NULL) == 0);
  for (int i = 0; i < 20; ++i) {
    volatile char first = 0;
    if (sigsetjmp(back, 1) == 0) deeper(&first);
    CHECK(strcmp(note, "the stack ran over") == 0);
    use_heap((unsigned)i, 50);
  }
  free(note);
  other.ss_flags = SS_DISABLE;
  sigaltstack(&other, NULL);
  free(other.ss_sp);
  return p;
}

PROGRAM(stack_overflows_are_survived) {
  struct sigaction action = {.sa_sigaction = handler_survived,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 * 1024);
  pthread_t t[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&t[i], &small, body_survived, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  puts("survived");
}
