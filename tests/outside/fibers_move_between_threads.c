// Contexts on stacks of malloc are resumed by another thread each time: allocated here, freed
// there, errno included.
#include "outside.h"

enum { fibers = 12, steps = 40, threads = 3, stack_bytes = 64 * 1024 };
struct fiber {
  ucontext_t here, caller;
  char* stack;
  int done;
};
static struct fiber all[fibers];
static int turn;
static pthread_barrier_t barrier;

static __attribute__((noinline)) void yield_to_caller(struct fiber* f) {
  swapcontext(&f->here, &f->caller);
}
static void run(int index) {
  struct fiber* f = &all[index];
  char* text = strdup("a fiber");
  for (int i = 0; i < steps; ++i) {
    char* next = (char*)malloc(10 + 300 * (size_t)i);
    strcpy(next, text);
    free(text);
    text = next;
    use_heap((unsigned)(index * steps + i), 30);
    yield_to_caller(f);
    CHECK(strcmp(text, "a fiber") == 0);
  }
  free(text);
  f->done = 1;
  yield_to_caller(f);
}
static void* resume(void* p) {
  int me = (int)(size_t)p;
  for (int step = 0; step <= steps; ++step) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < fibers; ++i)
      if ((i + step) % threads == me) swapcontext(&all[i].caller, &all[i].here);
    pthread_barrier_wait(&barrier);
  }
  return p;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, threads);
  for (int i = 0; i < fibers; ++i) {
    getcontext(&all[i].here);
    all[i].stack = (char*)malloc(stack_bytes);
    all[i].here.uc_stack.ss_sp = all[i].stack;
    all[i].here.uc_stack.ss_size = stack_bytes;
    makecontext(&all[i].here, (void (*)(void))run, 1, i);
  }
  run_threads(threads, resume);
  int done = 0;
  for (int i = 0; i < fibers; ++i) done += all[i].done, free(all[i].stack);
  printf("done: %d\n", done);
}
