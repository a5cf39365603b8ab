// The program starts itself again: without arguments, without an environment but the preload, with
// a very large one, by descriptor, and while it has threads.
#include "outside.h"

extern char** environ;
static void* busy(void* p) {
  for (unsigned i = 0;; ++i) use_heap(i, 40);
  return p;
}
static int again(void) {
  use_heap(8, 500);
  char* step = getenv("STEP");
  return step == NULL ? 10 : 10 + atoi(step);
}
// Returns: what the environment says of preloading, and `more`.
static char** small_environment(char* more) {
  static char* kept[32];
  int n = 0;
  for (char** e = environ; *e != NULL && n < 30; ++e)
    if (strncmp(*e, "LD_", 3) == 0 || strncmp(*e, "ASHLAR_", 7) == 0) kept[n++] = *e;
  kept[n++] = more;
  kept[n] = NULL;
  return kept;
}

int main(int count, char** arguments) {
  if (count == 0 || arguments[0][0] != '/') return again();
  for (int i = 0; i < 5; ++i) {
    pid_t child = fork();
    if (child == 0) {
      char* none[] = {NULL};
      char* one[] = {(char*)"x", NULL};
      char step[] = {'S', 'T', 'E', 'P', '=', (char)('0' + i), 0};
      if (i == 0) execve("/proc/self/exe", none, environ);
      if (i == 1) execve("/proc/self/exe", one, small_environment(step));
      if (i == 2) {
        for (int k = 0; k < 300; ++k) {
          char name[20];
          char* value = (char*)memset(calloc(1, 2001), 'v', 2000);
          snprintf(name, sizeof name, "LONG_%d", k);
          setenv(name, value, 1);
          free(value);
        }
        putenv(step);
        execv("/proc/self/exe", one);
      }
      putenv(step);
      pthread_t t;
      for (int k = 0; k < 2; ++k) CHECK(pthread_create(&t, NULL, busy, NULL) == 0);
      if (i == 3) fexecve(open("/proc/self/exe", O_RDONLY), one, environ);
      usleep(1000);
      execv("/proc/self/exe", one);
    }
    printf("%d\n", wait_for(child));
  }
}
