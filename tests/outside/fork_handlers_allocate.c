// Handlers of pthread_atfork allocate, grow and free in all three phases, across phases too, while
// other threads allocate.
#include "outside.h"

static void* from_before[2];
static int befores, afters, depth;

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

int main(void) {
  pthread_atfork(before, after, after);
  pthread_atfork(NULL, register_more, NULL);  // a handler adds handlers
  begin_busy(2);
  for (int i = 0; i < 6; ++i) {
    pid_t child = fork();
    if (child == 0) use_heap(3, 100), _exit(afters == befores ? 9 : 1);
    CHECK(wait_for(child) == 9);
  }
  end_busy();
  printf("%d before, %d after\n", befores, afters);
}
