// Programs in a sandbox that kills. Usage: outside_sandbox NAME
#include "sandbox.h"

#include <tests/support/programs.h>

// sandbox_after_fork: A process is forked, closes itself into a sandbox as sshd's child does, then allocates. Some children have used a heap of several megabytes before, so that whatever starts with the size of a heap starts now.
PROGRAM(sandbox_after_fork) {
  for (int i = 0; i < 1000; ++i) free(malloc((size_t)i));
  int lived = 0;
  enum { children = 18 };
  for (int r = 0; r < children; ++r) {
    for (int i = 0; i < 777; ++i) free(malloc((size_t)i));
    pid_t c = fork();
    if (c == 0) {
      // That child may write to no file, and its standard error is the server's log.
      if (r % 2 == 0) {
        const struct rlimit none = {0, 0};
        dup2(open("log", O_CREAT | O_WRONLY | O_APPEND, 0600), 2);
        setrlimit(RLIMIT_FSIZE, &none);
      }
      sandbox_close(r % 2 ? sandbox_files : 0);
      for (int i = 0; i < 3000; ++i) free(malloc((size_t)(i % 500)));
      const int wrong = r % 6 == 0 ? sandbox_use_heap((unsigned)r) : 0;
      if (r % 3 == 0) exit(wrong);
      _exit(wrong);
    }
    lived += sandbox_ended_well(c);
  }
  printf("%d of %d children lived\n", lived, children);
}

// sandbox_and_a_fault: A fault of the heap in a sandbox that kills: the process ends by a signal, and does not hang.
static const char* ended_by_signal(int full_pipe) {
  int pipes[2];
  if (pipe(pipes) != 0) return "no pipe";
  const pid_t c = fork();
  if (c == 0) {
    if (full_pipe) dup2(pipes[1], 2);
    sandbox_close(0);
    char* volatile block = malloc(40);
    char* volatile again = block;
    free(block);
    free(again);
    _exit(0);
  }
  int status = 0;
  waitpid(c, &status, 0);
  close(pipes[0]);
  close(pipes[1]);
  return WIFSIGNALED(status) ? "by a signal" : "otherwise";
}

PROGRAM(sandbox_and_a_fault) {
  printf("the child ended %s\n", ended_by_signal(0));
  printf("with standard error in a pipe: %s\n", ended_by_signal(1));
}

// sandbox_in_strict_mode: A process enters SECCOMP_MODE_STRICT, in which it may read, write and end, uses the memory that it has, and ends.
// Editions: default
PROGRAM(sandbox_in_strict_mode) {
  enum { count = 500 };
  static char* block[count];
  for (int r = 0; r < 50; ++r) {
    if (r == 1 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) exit(77);
    for (int i = 0; i < count; ++i) memset(block[i] = malloc((size_t)i + 1), i, (size_t)i + 1);
    for (int i = 0; i < count; ++i) free(block[i]);
  }
  if (write(1, "it goes on\n", 11) != 11) exit(1);
  syscall(SYS_exit, 0);
}

// sandbox_then_forks: A server in a sandbox that kills forks, and its children fork. Each allocates.
static int generations(int left) {
  if (sandbox_use_heap((unsigned)left) != 0) return 1;
  if (left == 0) return 0;
  const pid_t c = fork();
  if (c == 0) _exit(generations(left - 1));
  int status = -1;
  wait4(c, &status, 0, 0);
  return status == 0 && sandbox_use_heap(100u + (unsigned)left) == 0 ? 0 : 1;
}

PROGRAM(sandbox_then_forks) {
  int lived = 0;
  for (int r = 0; r < 3; ++r) {
    const pid_t c = fork();
    if (c == 0) {
      sandbox_close(sandbox_forks);
      _exit(generations(2));
    }
    lived += sandbox_ended_well(c);
  }
  printf("%d of 3 lived\n", lived);
}

// sandbox_with_threads: Threads in a sandbox that kills: some begin after it was closed, some before, and all allocate for each other.
enum { threads = 3, blocks = 300, rounds = 40 };
static pthread_barrier_t all;
static void* passed[threads][blocks];
static int wrong;

static void* work(void* p) {
  const int own = (int)(intptr_t)p;
  pthread_barrier_wait(&all);  // the sandbox is closed here, where it comes after the threads
  pthread_barrier_wait(&all);
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < blocks; ++i)
      passed[own][i] = memset(malloc((size_t)(i * 7 % 900 + 1)), own, (size_t)(i * 7 % 900 + 1));
    pthread_barrier_wait(&all);
    const int other = (own + 1) % threads;
    for (int i = 0; i < blocks; ++i) {
      if (*(unsigned char*)passed[other][i] != other) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
      free(passed[other][i]);
    }
    pthread_barrier_wait(&all);
  }
  if (sandbox_use_heap((unsigned)own) != 0) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
  return 0;
}

static int run(int closes_first) {
  pthread_barrier_init(&all, 0, threads + 1);
  if (closes_first) sandbox_close(sandbox_threads);
  pthread_t t[threads];
  for (intptr_t i = 0; i < threads; ++i) pthread_create(&t[i], 0, work, (void*)i);
  pthread_barrier_wait(&all);
  if (!closes_first) sandbox_close(sandbox_threads | sandbox_all_threads);
  pthread_barrier_wait(&all);
  for (int r = 0; r < 2 * rounds; ++r) pthread_barrier_wait(&all);
  for (int i = 0; i < threads; ++i) pthread_join(t[i], 0);
  return wrong;
}

PROGRAM(sandbox_with_threads) {
  for (int closes_first = 0; closes_first < 2; ++closes_first) {
    const pid_t c = fork();
    if (c == 0) exit(run(closes_first));
    printf("%s: %d\n", closes_first ? "closed before the threads" : "closed after",
           sandbox_ended_well(c));
    fflush(stdout);
  }
}
