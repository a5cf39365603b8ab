// A thread with real-time priority and ordinary threads allocate on one processor. Yielding does
// not let an ordinary thread go on that holds a lock: the real-time thread has to sleep.
#include <pthread.h>
#include <sched.h>

#include "outside.h"

static int stop;
static void* exchange[64];

static void churn(unsigned seed, int count) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    void* block = malloc((seed >> 10) % 32 == 0 ? 60000 : 1 + (seed >> 10) % 1000);
    free(__atomic_exchange_n(&exchange[seed >> 26], block, __ATOMIC_ACQ_REL));
  }
}
static void* ordinary(void* p) {
  for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++i) churn(i, 100);
  return p;
}
static void* real_time(void* p) {
  struct sched_param priority = {.sched_priority = 10};
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0) return (void*)1;
  for (unsigned i = 0; i < 300; ++i) {
    churn(i, 60);
    usleep(500);
  }
  return NULL;
}

int main(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return 77;
  pthread_t t[3], r;
  void* refused;
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&t[i], NULL, ordinary, NULL) == 0);
  CHECK(pthread_create(&r, NULL, real_time, NULL) == 0);
  pthread_join(r, &refused);
  stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(t[i], NULL);
  if (refused) return 77;
  puts("ended");
}
