// Eight threads on one processor: a thread that holds a lock is taken off it often, and the others
// must let it go on.
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "outside.h"

enum { threads = 8 };
static void* exchange[64];

static void* body(void* p) {
  unsigned seed = (unsigned)(size_t)p;
  for (int i = 0; i < 6000; ++i) {
    seed = seed * 1664525 + 1013904223;
    void* block = malloc((seed >> 10) % 64 == 0 ? 60000 : 1 + (seed >> 10) % 1000);
    free(__atomic_exchange_n(&exchange[seed >> 26], block, __ATOMIC_ACQ_REL));
  }
  return p;
}

int main(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return 77;
  pthread_t t[threads];
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_create(&t[i], NULL, body, (void*)(size_t)(i + 1)) == 0);
  for (int i = 0; i < threads; ++i) pthread_join(t[i], NULL);
  for (int i = 0; i < 64; ++i) free(exchange[i]);
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  printf("ended in time: %d\n", used.tv_sec < 5);
}
