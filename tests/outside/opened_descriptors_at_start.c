// At main, the process has the descriptors that it inherited, one thread, and no handlers of
// signals. (What guards blocks has handlers for its reports, and the background thread is a
// thread.)
// Editions: default samples
#include "outside.h"

static int entries(const char* folder) {
  DIR* d = opendir(folder);
  int n = 0;
  while (d != NULL && readdir(d) != NULL) ++n;
  if (d != NULL) closedir(d);
  return n - 2;
}

int main(void) {
  free(malloc(100));
  free(malloc(1 << 20));
  int handlers = 0;
  for (int s = 1; s < 32; ++s) {
    struct sigaction now;
    if (sigaction(s, NULL, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
      ++handlers;
  }
  stack_t other;
  sigset_t blocked, none;
  sigaltstack(NULL, &other);
  sigemptyset(&none);
  sigprocmask(SIG_BLOCK, &none, &blocked);
  use_heap(1, 5000);
  int descriptors = 0;
  for (int i = 3; i < 1000; ++i) descriptors += dup2(i, i) == i;
  printf("%d descriptors, %d tasks, %d handlers, alternate stack %d, blocked %d\n", descriptors,
         entries("/proc/self/task"), handlers, !(other.ss_flags & SS_DISABLE),
         !sigisemptyset(&blocked));
}
