// A profiler of the usual kind: a timer's handler takes a backtrace wherever it interrupts the
// program, often in malloc.
#include "outside.h"

static int samples;

static void handler(int s) {
  void* frames[32];
  __atomic_add_fetch(&samples, backtrace(frames, 32) > 0, __ATOMIC_RELAXED);
}
static void* body(void* p) {
  for (unsigned i = 0; __atomic_load_n(&samples, __ATOMIC_RELAXED) < 40; ++i) use_heap(i, 200);
  return p;
}

int main(void) {
  void* frames[4];
  backtrace(frames, 4);  // loads the unwinder, which allocates
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  struct itimerval each_ms = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &each_ms, NULL);
  run_threads(2, body);
  puts("40 samples");
}
