// A child forks a child, twenty times over; each one has threads, frees a block of each ancestor,
// and exits by exit().
#include "outside.h"

enum { generations = 20 };
static char* inherited[generations + 1];

static void* busy(void* p) {
  use_heap((unsigned)(size_t)p, 300);
  return malloc(50);
}
static void at_end(void) {
  free(realloc(malloc(100), 90000));
}

int main(void) {
  atexit(at_end);
  int generation = 0;
  for (;;) {
    pthread_t t[2];
    void* block;
    inherited[generation] = strdup("an heirloom");
    for (int i = 0; i < 2; ++i)
      CHECK(pthread_create(&t[i], NULL, busy, (void*)(size_t)(generation + i)) == 0);
    pid_t child = generation < generations ? fork() : -1;
    if (child == 0) {
      ++generation;
      for (int i = 0; i < generation; ++i) {
        CHECK(strcmp(inherited[i], "an heirloom") == 0);
        free(inherited[i]);
        inherited[i] = strdup("an heirloom");
      }
      continue;
    }
    for (int i = 0; i < 2; ++i) pthread_join(t[i], &block), free(block);
    int below = child > 0 ? wait_for(child) : 0;
    if (generation == 0) printf("generations: %d\n", below);
    exit(generation == 0 ? 0 : below + 1);
  }
}
