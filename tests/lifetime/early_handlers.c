/* Forks with a library in the process that was there first (early_library.c). A deadlock ends in the
 * test's timeout. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void early_library(void);

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
