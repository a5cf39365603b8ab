// Three threads allocate; all blocks are freed by one that never allocates. What the process keeps
// stays bounded.
#include "outside.h"

enum { places = 4096, makers = 3, rounds = 12000 };
static void* queue[places];
static pthread_barrier_t start;

static void* make(void* p) {
  pthread_barrier_wait(&start);
  for (int i = 0; i < rounds; ++i) {
    void* block = malloc(2500);
    memset(block, 1, 2500);
    void** place = &queue[(i * 7 + (int)(size_t)p) % places];
    void* none = NULL;
    while (
        !__atomic_compare_exchange_n(place, &none, block, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      none = NULL;
      usleep(0);
    }
  }
  return p;
}
static void* take(void* p) {
  pthread_barrier_wait(&start);
  for (int got = 0, i = 0; got < makers * rounds; i = (i + 1) % places) {
    void* block = __atomic_exchange_n(&queue[i], NULL, __ATOMIC_ACQ_REL);
    free(block);
    got += block != NULL;
  }
  return p;
}

int main(void) {
  pthread_t t[makers + 1];
  pthread_barrier_init(&start, NULL, makers + 1);
  for (int i = 0; i <= makers; ++i)
    CHECK(pthread_create(&t[i], NULL, i == 0 ? take : make, (void*)(size_t)i) == 0);
  for (int i = 0; i <= makers; ++i) pthread_join(t[i], NULL);
  // 4096 blocks live at once are 10 MB; 36,000 are 90 MB.
  printf("bounded: %d\n", resident_kib() < 70 * 1024);
}
