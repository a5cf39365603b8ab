// The process exits in every way while detached threads allocate, with exit handlers that do so,
// too.
#include "outside.h"

static void* busy(void* p) {
  for (unsigned i = 0;; ++i) use_heap(i, 40);
  return p;
}
static void* begin_and_end(void* p) {
  for (;;) {
    pthread_t t;
    if (pthread_create(&t, NULL, (void* (*)(void*))malloc, (void*)100) == 0) {
      void* block;
      pthread_join(t, &block);
      free(block);
    }
  }
  return p;
}
static void handler(void) {
  use_heap(7, 300);
}
static void handler_with_status(int status, void* p) {
  use_heap((unsigned)status, 300);
  free(p);
}

int main(void) {
  for (int i = 0; i < 12; ++i) {
    pid_t child = fork();
    if (child != 0) {
      CHECK(wait_for(child) == i % 4);
      continue;
    }
    atexit(handler);
    at_quick_exit(handler);
    on_exit(handler_with_status, malloc(1000));
    for (int k = 0; k < 3; ++k) {
      pthread_t t;
      CHECK(pthread_create(&t, NULL, k == 0 ? begin_and_end : busy, NULL) == 0);
      pthread_detach(t);
    }
    usleep(2000);
    if (i % 3 == 0) return i % 4;
    i % 3 == 1 ? exit(i % 4) : quick_exit(i % 4);
  }
  puts("all ended");
}
