// main ends by pthread_exit. The process lives on: /proc/self has no maps any more, since they are
// the first thread's.
#include "outside.h"

static char* of_main;
static pthread_t first;

static void at_end(void) {
  use_heap(3, 200);
  printf("at the end\n");
}
static void* survivor(void* p) {
  pthread_join(first, NULL);
  CHECK(strcmp(of_main, "written by main") == 0);
  free(of_main);
  for (int i = 0; i < 5; ++i) {
    pthread_t t;
    CHECK(pthread_create(&t, NULL, use_heap_in_thread, (void*)(size_t)i) == 0);
    pthread_join(t, NULL);
    char* large = (char*)calloc(1, (size_t)40 << 20);
    CHECK(large != NULL && large[39 << 20] == 0);
    free(large);
    malloc_trim(0);
    pid_t child = fork();
    if (child == 0) {
      use_heap(9, 500);
      _exit(7);
    }
    CHECK(wait_for(child) == 7);
  }
  return p;
}

int main(void) {
  first = pthread_self();
  of_main = strdup("written by main");
  atexit(at_end);
  pthread_t t;
  CHECK(pthread_create(&t, NULL, survivor, NULL) == 0);
  pthread_exit(NULL);
}
