/* tests/attach/own_calls.c: a program that loads the recorder itself, and records two parts of its
 * run: RECORDER TRACE TRACE. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void* volatile kept;

int main(int count, char** words) {
  if (count != 4) return 2;
  void* const library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  int (*start)(const char*) = (int (*)(const char*))dlsym(library, "ashlar_record_start");
  int (*stop)(void) = (int (*)(void))dlsym(library, "ashlar_record_stop");
  for (int part = 0; part < 2; ++part) {
    if (part == 1) clearenv();
    if (start(words[2 + part]) != 0) return fprintf(stderr, "start: %s\n", strerror(errno)), 1;
    if (start("other") != -1 || errno != EBUSY) return 3;
    for (int i = 0; i < 1000 * (part + 1); ++i) free(malloc(77));
    kept = malloc(777);
    kept = malloc((size_t)1 << 20); /* lives at the end of the recording, and nobody touched it */
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
      return 4; /* no child is the program's */
    if (stop() != 0) return fprintf(stderr, "stop: %s\n", strerror(errno)), 1;
    free(malloc(88));
  }
  if (stop() != -1 || errno != ESRCH) return 5;
  if (start("/nowhere/at.all") != -1) return 6;
  return 0;
}
