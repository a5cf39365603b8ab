// daemon() from a process with threads: the grandchild has no descriptors, allocates, starts
// threads and forks again.
#include "outside.h"

static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 2000);
  return malloc(77);
}

int main(void) {
  int tell[2];
  pthread_t t;
  void* block;
  CHECK(pipe(tell) == 0 && pthread_create(&t, NULL, body, NULL) == 0);
  char* kept = strdup("kept by the daemon");
  pid_t child = fork();
  if (child == 0) {
    CHECK(daemon(0, 0) == 0);
    for (int i = 3; i < 20; ++i)
      if (i != tell[1]) close(i);
    CHECK(pthread_create(&t, NULL, body, (void*)3) == 0 && pthread_join(t, &block) == 0);
    free(block);
    CHECK_CHILD(5, use_heap(5, 500));
    write(tell[1], kept, strlen(kept));
    free(kept);
    exit(0);
  }
  close(tell[1]);
  pthread_join(t, &block);
  free(block);
  CHECK(wait_for(child) == 0);
  char told[64] = {0};
  read(tell[0], told, 63);
  free(kept);
  printf("%s\n", told);
}
