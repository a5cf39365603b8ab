// Destructors of pthread keys allocate and free in each round that the C library gives them; one is
// free itself. The last round's block is freed by main. Then the process forks.
#include "outside.h"

static pthread_key_t rounds_key, free_key, late_key;
static int rounds_seen;
static void* left;

static void in_each_round(void* p) {
  int round = *(int*)p;
  free(p);
  use_heap((unsigned)round, 50);
  __atomic_add_fetch(&rounds_seen, 1, __ATOMIC_RELAXED);
  if (round == PTHREAD_DESTRUCTOR_ITERATIONS) {
    free(__atomic_exchange_n(&left, malloc(100), __ATOMIC_ACQ_REL));
    return;
  }
  int* next = (int*)malloc(sizeof(int) + 100 * (size_t)round);
  *next = round + 1;
  pthread_setspecific(rounds_key, next);
  pthread_setspecific(free_key, malloc(5000));
}
static void late(void* p) {
  if (p != (void*)4)
    pthread_setspecific(late_key, (char*)p + 1);
  else
    free(realloc(malloc(10), 70000));
}
static void* body(void* p) {
  int* first = (int*)malloc(sizeof(int));
  *first = 1;
  pthread_setspecific(rounds_key, first);
  pthread_setspecific(free_key, calloc(3, 7));
  pthread_setspecific(late_key, (void*)1);
  return p;
}

int main(void) {
  pthread_key_create(&rounds_key, in_each_round);
  pthread_key_create(&free_key, free);
  pthread_key_create(&late_key, late);
  for (int i = 0; i < 60; ++i) {
    pthread_t t[3];
    for (int k = 0; k < 3; ++k) CHECK(pthread_create(&t[k], NULL, body, NULL) == 0);
    for (int k = 0; k < 3; ++k) pthread_join(t[k], NULL);
    if (i % 20 != 0) continue;
    CHECK_CHILD(0, use_heap(1, 100));
  }
  free(left);
  printf("rounds: %d\n", rounds_seen);
}
