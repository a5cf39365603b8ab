/* A library whose constructor registers fork handlers that allocate, before the program, and perhaps
 * before the heap, has done anything. */
#include <pthread.h>
#include <stdlib.h>

void early_library(void);

static void* volatile block;

static void prepare(void) {
  block = malloc(100000);
}
static void after(void) {
  free(block);
  free(malloc(50));
}

__attribute__((constructor)) static void start(void) {
  (void)pthread_atfork(prepare, after, after);
}

void early_library(void) {}
