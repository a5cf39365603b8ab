// Blocks from before main, in each way in which code may run there, and what they hold at main and
// at the end.
#include "outside.h"

static char* texts[8];
static int count;
static void keep(const char* text) {
  use_heap((unsigned)count, 200);
  texts[count++] = strdup(text);
}
static void preinit(int c, char** v, char** e) { keep("preinit_array"); }
__attribute__((section(".preinit_array"), used)) static void (*const in_preinit)(int, char**,
                                                                                 char**) = preinit;
__attribute__((constructor(101))) static void earliest(void) { keep("constructor 101"); }
static void* body(void* p) {
  use_heap(5, 200);
  return strdup("a thread before main");
}
__attribute__((constructor(200))) static void with_thread(void) {
  pthread_t t;
  void* text;
  pthread_create(&t, NULL, body, NULL);
  pthread_join(t, &text);
  texts[count++] = (char*)text;
}
__attribute__((constructor(300))) static void with_fork(void) {
  pid_t child = fork();
  if (child == 0) use_heap(9, 100), _exit(3);
  if (wait_for(child) == 3) keep("a fork before main");
}
__attribute__((constructor)) static void usual(void) {
  texts[count++] = (char*)realloc(memalign(4096, 10), 100);
  strcpy(texts[count - 1], "constructor");
}
__attribute__((destructor)) static void late(void) {
  for (int i = 0; i < count; ++i) free(texts[i]);
  free(malloc(200000));
}
__attribute__((destructor(101))) static void latest(void) {
  use_heap(1, 300);
  free(texts[7]);
}

int main(void) {
  for (int i = 0; i < count; ++i) puts(texts[i]);
  texts[7] = strdup("freed last");
}
