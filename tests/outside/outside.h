// What these programs need: the headers that any of them has, checks, and what several do. A failed check is a line on
// standard output, which no edition may have.
#pragma once
#include <aio.h>
#include <argz.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>

#define CHECK(what) \
  ((what) ? (void)0 : (printf("line %d: not so: %s\n", __LINE__, #what), fflush(stdout), _exit(3)))

// Returns: the process's memory that is resident, in KiB.
static inline long resident_kib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
// Effects: allocates and frees `count` blocks of many sizes, and checks what is in them. Where each has pages of its own, a
// quarter of them says the same (outside.py).
static inline void use_heap(unsigned seed, int count) {
  static int share;
  if (share == 0) share = getenv("OUTSIDE_SHARE") != NULL ? 4 : 1;
  count = (count + share - 1) / share;
  unsigned char* held[32] = {0};
  unsigned size[32] = {0};
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    const unsigned k = seed >> 27;
    if (held[k] != NULL) CHECK(held[k][0] == k && held[k][size[k] - 1] == k);
    free(held[k]);
    size[k] = (seed >> 8) % 64 == 0 ? 1 + (seed >> 8) % 300000 : 1 + (seed >> 8) % 2000;
    held[k] = (unsigned char*)malloc(size[k]);
    CHECK(held[k] != NULL);
    held[k][0] = held[k][size[k] - 1] = (unsigned char)k;
  }
  for (int k = 0; k < 32; ++k) free(held[k]);
}
// Returns: the status of a child as a program sees it: the exit status, or 128 and the signal.
static inline int wait_for(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
// Effects: a child does that, and has to end by itself with the status.
#define CHECK_CHILD(status, ...)                          \
  do {                                                    \
    const pid_t child_ = fork();                          \
    if (child_ == 0) (void)0, __VA_ARGS__, _exit(status); \
    CHECK(wait_for(child_) == status);                    \
  } while (0)

// Effects: so many threads run `body`, each with its number, and end.
static inline void run_threads(int count, void* (*body)(void*)) {
  pthread_t t[16];
  for (int i = 0; i < count; ++i) CHECK(pthread_create(&t[i], NULL, body, (void*)(size_t)i) == 0);
  for (int i = 0; i < count; ++i) pthread_join(t[i], NULL);
}
static inline void* use_heap_in_thread(void* number) {
  use_heap((unsigned)(size_t)number, 2000);
  return number;
}
// Effects: so many threads use the heap until end_busy().
static pthread_t busy_thread[4];
static int busy_count, busy_ends;
static inline void* be_busy(void* p) {
  for (unsigned i = 0; !__atomic_load_n(&busy_ends, __ATOMIC_RELAXED); ++i) use_heap(i, 50);
  return p;
}
static inline void begin_busy(int count) {
  for (; busy_count < count; ++busy_count)
    CHECK(pthread_create(&busy_thread[busy_count], NULL, be_busy, NULL) == 0);
}
static inline void end_busy(void) {
  __atomic_store_n(&busy_ends, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < busy_count; ++i) pthread_join(busy_thread[i], NULL);
}
