// mallinfo, malloc_info, malloc_stats, malloc_trim and mallopt while threads begin, allocate and
// end, and the process forks.
#include "outside.h"

static int stop;
static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 60);
  return p;
}
static void* begin_and_end(void* p) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pthread_t t[2];
    for (int i = 0; i < 2; ++i)
      if (pthread_create(&t[i], NULL, body, (void*)(size_t)i) != 0) abort();
    for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  }
  return p;
}

int main(void) {
  dup2(open("/dev/null", O_WRONLY), 2);
  pthread_t t[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&t[i], NULL, begin_and_end, NULL) == 0);
  void* held = malloc(50 << 20);
  for (int i = 0; i < 40; ++i) {
    struct mallinfo2 now = mallinfo2();
    CHECK(now.uordblks + now.hblkhd >= 50u << 20);
    mallinfo();
    char* text = NULL;
    size_t length = 0;
    FILE* stream = open_memstream(&text, &length);
    CHECK(malloc_info(0, stream) == 0 && fclose(stream) == 0 && strncmp(text, "<malloc", 7) == 0);
    free(text);
    if (i % 8 == 0) malloc_stats();
    malloc_trim((size_t)i << 16);
    CHECK(mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1 && mallopt(M_ARENA_MAX, 2) == 1 &&
          mallopt(M_PERTURB, 0) == 1);
    if (i % 10 == 0) CHECK_CHILD(6, mallinfo2(), malloc_trim(0), use_heap(1, 50));
  }
  free(held);
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  puts("told");
}
