// clone(CLONE_VM) on a stack of malloc, as container runtimes do: the child writes to its parent's
// blocks and ends.
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "outside.h"

static int stop;
static void* busy(void* p) {
  for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++i) use_heap(i, 50);
  return p;
}
static int child_body(void* p) {
  strcpy((char*)p, "written by the child");
  return 6;
}

int main(void) {
  pthread_t t;
  CHECK(pthread_create(&t, NULL, busy, NULL) == 0);
  for (int i = 0; i < 200; ++i) {
    char* stack = (char*)malloc(64 * 1024);
    char* text = (char*)calloc(1, 100);
    pid_t child = clone(child_body, stack + 64 * 1024 - 16,
                        CLONE_VM | (i % 2 ? CLONE_VFORK : 0) | SIGCHLD, text);
    use_heap((unsigned)i, 20);
    CHECK(wait_for(child) == 6 && strcmp(text, "written by the child") == 0);
    free(text);
    free(stack);
  }
  stop = 1;
  pthread_join(t, NULL);
  puts("ok");
}
