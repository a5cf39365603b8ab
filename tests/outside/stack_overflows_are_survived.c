// A stack runs over; the handler, on an alternate stack of malloc, allocates and jumps out. Many
// times, in two threads.
#include "outside.h"

static __thread sigjmp_buf back;
static __thread char* note;

static void handler(int s, siginfo_t* info, void* context) {
  free(note);
  note = strdup("the stack ran over");
  use_heap(5, 20);
  siglongjmp(back, s);
}
static int deeper(volatile char* above) {
  volatile char room[4096];
  room[0] = above[0];
  return deeper(room) + room[0];
}
static void* body(void* p) {
  stack_t other = {.ss_sp = malloc(64 * 1024), .ss_size = 64 * 1024};
  CHECK(sigaltstack(&other, NULL) == 0);
  for (int i = 0; i < 20; ++i) {
    volatile char first = 0;
    if (sigsetjmp(back, 1) == 0) deeper(&first);
    CHECK(strcmp(note, "the stack ran over") == 0);
    use_heap((unsigned)i, 50);
  }
  free(note);
  other.ss_flags = SS_DISABLE;
  sigaltstack(&other, NULL);
  free(other.ss_sp);
  return p;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 * 1024);
  pthread_t t[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&t[i], &small, body, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  puts("survived");
}
