// Handlers of pthread_atfork allocate, grow and free in all three phases, across phases too, while
// other threads allocate.
#include <pthread.h>

#include "outside.h"

static void* from_before[2];
static int befores, afters, depth, stop;

static void before(void) {
  from_before[depth] = realloc(malloc(300000), 3000000);
  memset(from_before[depth++], 1, 3000000);
  use_heap(1, 60);
  ++befores;
}
static void after(void) {
  CHECK(((char*)from_before[--depth])[2999999] == 1);
  free(from_before[depth]);
  free(calloc(1, 2000000));
  use_heap(2, 60);
  ++afters;
}
static void register_more(void) {
  static int once;
  if (!once++) pthread_atfork(before, after, after);
}
static void* busy(void* p) {
  for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++i) use_heap(i, 50);
  return p;
}

int main(void) {
  pthread_t t[2];
  pthread_atfork(before, after, after);
  pthread_atfork(NULL, register_more, NULL);  // a handler adds handlers
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&t[i], NULL, busy, NULL) == 0);
  for (int i = 0; i < 6; ++i) {
    pid_t child = fork();
    if (child == 0) use_heap(3, 100), _exit(afters == befores ? 9 : 1);
    CHECK(wait_for(child) == 9);
  }
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  printf("%d before, %d after\n", befores, afters);
}
