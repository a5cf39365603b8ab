// A library by dlmopen: with a C library of its own, which allocates, starts threads and is closed
// again.
#include "outside.h"

#ifdef MODULE
static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 500);
  return strdup("of a namespace");
}
int work(int n) {
  pthread_t t;
  void* text;
  use_heap((unsigned)n, 1000);
  if (pthread_create(&t, NULL, body, (void*)(size_t)n) != 0 || pthread_join(t, &text) != 0)
    return 1;
  int length = (int)strlen((char*)text);
  free(text);
  return length;
}
#else
int main(void) {
  for (int i = 0; i < 6; ++i) {
    void* module = dlmopen(LM_ID_NEWLM, MODULE_FILE, RTLD_NOW | RTLD_LOCAL);
    CHECK(module != NULL);
    printf("%d\n", ((int (*)(int))dlsym(module, "work"))(i));
    use_heap((unsigned)i, 1000);
    CHECK(dlclose(module) == 0);
  }
}
#endif
