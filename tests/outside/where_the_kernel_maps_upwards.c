// Started with an unlimited stack, without random addresses, and with both old layouts: the kernel
// maps from low addresses upwards, into the way of whoever grows a mapping in place.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>

#include "outside.h"

static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 2000);
  return p;
}
static int again(void) {
  char* grown = NULL;
  void* between[25];
  for (int i = 0; i < 25; ++i) {
    grown = (char*)realloc(grown, (size_t)(i + 1) * 700000);
    CHECK(grown != NULL);
    memset(grown + (size_t)i * 700000, i, 700000);
    between[i] = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(char*)between[i] = 1;
    use_heap((unsigned)i, 100);
  }
  for (int i = 0; i < 25; ++i) {
    CHECK(grown[(size_t)i * 700000] == i && grown[(size_t)i * 700000 + 699999] == i);
    munmap(between[i], 8192);
  }
  free(grown);
  pthread_t t[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&t[i], NULL, body, (void*)(size_t)i) == 0);
  for (int i = 0; i < 4; ++i) pthread_join(t[i], NULL);
  return 50;
}

int main(int count, char** arguments) {
  if (count > 1) return again();
  for (int i = 0; i < 4; ++i) {
    pid_t child = fork();
    if (child == 0) {
      struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
      if (i % 2 == 0) setrlimit(RLIMIT_STACK, &all);
      personality((i > 0 ? ADDR_NO_RANDOMIZE : 0) | (i > 2 ? ADDR_COMPAT_LAYOUT : 0));
      char* again[] = {arguments[0], (char*)"x", NULL};
      execv("/proc/self/exe", again);
    }
    printf("%d\n", wait_for(child));
  }
}
