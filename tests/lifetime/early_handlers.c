/* Forks with a library in the process that was there first. A deadlock ends in the test's timeout.
 * With -DLIBRARY it is that library: its constructor registers fork handlers that allocate, before the
 * program, and perhaps before the heap, has done anything. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void early_library(void);

#ifdef LIBRARY

static void* volatile block;

static void prepare(void) { block = malloc(100000); }
static void after(void) {
  free(block);
  free(malloc(50));
}

__attribute__((constructor)) static void start(void) {
  (void)pthread_atfork(prepare, after, after);
}

void early_library(void) {}

#else

int main(void) {
  int i;
  early_library();
  for (i = 0; i < 20; ++i) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      free(malloc(1000));
      _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      fprintf(stderr, "fork %d ended with %d\n", i, status);
      return 1;
    }
  }
  return 0;
}

#endif
