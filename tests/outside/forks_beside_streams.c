// fork() beside fflush(NULL) and getline(), which allocates while it holds its stream: all of them go on.
#include "outside.h"

enum { readers = 3, forkers = 2, line_bytes = 50000, wanted = 5 };
static volatile int stop;
static long reads[readers], flushes, forks[forkers];
static char name[] = "linesXXXXXX";

static void* read_lines(void* count) {
  FILE* f = fopen(name, "r");
  while (!stop) {
    char* line = 0;
    size_t bytes = 0;
    rewind(f);
    getline(&line, &bytes, f);
    free(line);
    __atomic_add_fetch((long*)count, 1, __ATOMIC_RELAXED);
    usleep(100);  // else a flush hardly gets the stream, on any allocator
  }
  return 0;
}
static void* flush(void* count) {
  while (!stop) {
    fflush(0);
    __atomic_add_fetch((long*)count, 1, __ATOMIC_RELAXED);
  }
  return 0;
}
static void* fork_children(void* count) {
  while (!stop) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, 0, 0);
    __atomic_add_fetch((long*)count, 1, __ATOMIC_RELAXED);
  }
  return 0;
}
static int has_all(const long* counts, int n) {
  for (int i = 0; i < n; ++i)
    if (__atomic_load_n(&counts[i], __ATOMIC_RELAXED) < wanted) return 0;
  return 1;
}

int main(void) {
  const int file = mkstemp(name);
  for (int i = 0; i < line_bytes; ++i) write(file, i + 1 < line_bytes ? "x" : "\n", 1);
  pthread_t threads[readers + 1 + forkers], *t = threads;
  for (int i = 0; i < readers; ++i) pthread_create(t++, 0, read_lines, &reads[i]);
  pthread_create(t++, 0, flush, &flushes);
  for (int i = 0; i < forkers; ++i) pthread_create(t++, 0, fork_children, &forks[i]);
  while (!has_all(reads, readers) || !has_all(&flushes, 1) || !has_all(forks, forkers))
    usleep(10000);
  stop = 1;
  for (int i = 0; i < readers + 1 + forkers; ++i) pthread_join(threads[i], 0);
  puts("all went on");
}
