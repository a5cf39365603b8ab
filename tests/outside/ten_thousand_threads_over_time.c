// 10,000 threads live one after the other; each leaves a block to the next one. The process does
// not grow with them.
#include "outside.h"

enum { batch = 10, batches = 1000 };
static void* left[batch];

static void* life(void* p) {
  void** mine = (void**)p;
  free(*mine);
  char* text = (char*)malloc(3000);
  strcpy(text, "a life");
  *mine = realloc(strdup(text), 200);
  free(text);
  return NULL;
}

int main(void) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  long before = 0;
  for (int b = 0; b < batches; ++b) {
    pthread_t t[batch];
    for (int i = 0; i < batch; ++i) CHECK(pthread_create(&t[i], &small, life, &left[i]) == 0);
    for (int i = 0; i < batch; ++i) pthread_join(t[i], NULL);
    if (b == batches / 10) before = resident_kib();
  }
  for (int i = 0; i < batch; ++i) CHECK(strcmp((char*)left[i], "a life") == 0), free(left[i]);
  printf("bounded: %d\n", resident_kib() - before < 24 * 1024);
}
