// Threads end that never used the heap; then one uses it, and the process forks. An ending thread of the C library frees
// what other threads left to its stack cache, after its own last destructor.
#include "outside.h"

enum { idle_threads = 24, rounds = 2 };
static pthread_barrier_t all;

static void* idle(void* p) {
  pthread_barrier_wait(&all);
  return p;
}
static void* user(void* p) {
  free(malloc(100));
  return p;
}

int main(void) {
  for (int r = 0; r < rounds; ++r) {
    pthread_barrier_init(&all, 0, idle_threads + 1);
    for (int i = 0; i < idle_threads; ++i) {
      pthread_t t;
      pthread_create(&t, 0, idle, 0);
      pthread_detach(t);
    }
    pthread_barrier_wait(&all);
    usleep(100000);
  }
  for (int i = 0; i < 3; ++i) {
    pthread_t t;
    pthread_create(&t, 0, user, 0);
    pthread_join(t, 0);
  }
  int status;
  if (fork() == 0) _exit(0);
  wait(&status);
  printf("the child ended with %d\n", status);
}
