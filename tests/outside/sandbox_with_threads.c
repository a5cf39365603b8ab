// Threads in a sandbox that kills: some begin after it was closed, some before, and all allocate for each other.
#include "sandbox.h"

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

int main(void) {
  for (int closes_first = 0; closes_first < 2; ++closes_first) {
    const pid_t c = fork();
    if (c == 0) exit(run(closes_first));
    printf("%s: %d\n", closes_first ? "closed before the threads" : "closed after",
           sandbox_ended_well(c));
    fflush(stdout);
  }
}
