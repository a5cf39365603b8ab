// Threads on one processor: one that holds a lock is taken off it often, and the others must let it go on. Yielding does
// not let an ordinary thread go on beside one with real-time priority: that one has to sleep.
#include "outside.h"

static int stop;
static void* exchange[64];

static void churn(unsigned seed, int count, unsigned large_in) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    void* block = malloc((seed >> 10) % large_in == 0 ? 60000 : 1 + (seed >> 10) % 1000);
    free(__atomic_exchange_n(&exchange[seed >> 26], block, __ATOMIC_ACQ_REL));
  }
}
static void* one_of_eight(void* number) {
  churn((unsigned)(size_t)number + 1, 6000, 64);
  return NULL;
}
static void* ordinary(void* p) {
  for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++i) churn(i, 100, 32);
  return p;
}
static void* real_time(void* p) {
  struct sched_param priority = {.sched_priority = 10};
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0) return (void*)1;
  for (unsigned i = 0; i < 300; ++i) {
    churn(i, 60, 32);
    usleep(500);
  }
  return NULL;
}

int main(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return 77;
  run_threads(8, one_of_eight);
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  printf("ended in time: %d\n", used.tv_sec < 5);
  pthread_t t[3], r;
  void* refused;
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&t[i], NULL, ordinary, NULL) == 0);
  CHECK(pthread_create(&r, NULL, real_time, NULL) == 0);
  pthread_join(r, &refused);
  stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(t[i], NULL);
  for (int i = 0; i < 64; ++i) free(exchange[i]);
  puts(refused != NULL ? "no right to a real-time priority" : "ended beside it");
}
