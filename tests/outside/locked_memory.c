// mlockall for all pages now and later, on fault too: large blocks, threads and reallocs go on, and
// after munlockall.
#include "outside.h"

static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 500);
  return calloc(1, 300000);
}

int main(void) {
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_MEMLOCK, &all);
  static const int kinds[] = {MCL_CURRENT, MCL_FUTURE | MCL_ONFAULT, MCL_CURRENT | MCL_FUTURE};
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 * 1024);
  for (int i = 0; i < 3; ++i) {
    if (mlockall(kinds[i]) != 0) return 77;
    char* large = (char*)malloc(8 << 20);
    CHECK(large != NULL);
    large[0] = large[(8 << 20) - 1] = 5;
    large = (char*)realloc(large, 12 << 20);
    CHECK(large != NULL && large[(8 << 20) - 1] == 5);
    for (int k = 0; k < 5; ++k) {
      pthread_t t;
      void* block;
      CHECK(pthread_create(&t, &small, body, (void*)(size_t)k) == 0 &&
            pthread_join(t, &block) == 0);
      free(block);
    }
    free(large);
    use_heap((unsigned)i, 3000);
    munlockall();
    use_heap((unsigned)i, 3000);
  }
  printf("resident little: %d\n", resident_kib() < 300 * 1024);
}
