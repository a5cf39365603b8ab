// Started with an unlimited stack, without random addresses, and with both old layouts: the kernel
// maps from low addresses upwards, into the way of whoever grows a mapping in place.
#include "outside.h"

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
  run_threads(4, use_heap_in_thread);
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
