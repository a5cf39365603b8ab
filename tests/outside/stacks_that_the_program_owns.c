// A thread's stack, and so its TLS, lies in memory of the program, which overwrites, frees or
// unmaps it after the join.
#include "outside.h"

enum { stack_bytes = 256 * 1024 };
static pthread_key_t key;

static void* body(void* p) {
  pthread_setspecific(key, malloc(123));
  use_heap((unsigned)(size_t)p, 300);
  return strdup("from its stack");
}

int main(void) {
  pthread_key_create(&key, free);
  for (int i = 0; i < 60; ++i) {
    void* stack = i % 3 == 0   ? aligned_alloc(4096, stack_bytes)
                  : i % 3 == 1 ? malloc(stack_bytes)
                               : mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t own;
    pthread_attr_init(&own);
    CHECK(pthread_attr_setstack(&own, stack, stack_bytes) == 0);
    for (int again = 0; again < 2; ++again) {
      pthread_t t;
      void* text;
      CHECK(pthread_create(&t, &own, body, (void*)(size_t)i) == 0);
      pthread_join(t, &text);
      CHECK(strcmp((char*)text, "from its stack") == 0);
      free(text);
      memset(stack, 0x5a, stack_bytes);
    }
    i % 3 == 2 ? (void)munmap(stack, stack_bytes) : free(stack);
    use_heap((unsigned)i, 100);
    if (i % 10 == 0) CHECK_CHILD(0, use_heap(2, 100));
  }
  puts("ok");
}
