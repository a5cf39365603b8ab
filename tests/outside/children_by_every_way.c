// Children that are made in other ways than by fork(), while other threads use the heap: vfork and exec, posix_spawn, system,
// popen, _Fork and the clone system call. And fork() within handlers of forks that allocate and free.
#include "outside.h"

extern char** environ;
extern pid_t _Fork(void) __attribute__((weak));

static volatile int stop;
static unsigned bad;

static void churn(unsigned s, int times) {
  void* b[64] = {0};
  for (int i = 0; i < times; ++i) {
    s = s * 1103515245 + 12345;
    const int k = (s >> 8) % 64;
    free(b[k]);
    b[k] = malloc((s >> 10) % ((s >> 20) % 16 == 0 ? 300000 : 700));
    if (b[k] == 0) abort();
  }
  for (int k = 0; k < 64; ++k) free(b[k]);
}
static void* churn_until_stop(void* seed) {
  while (!stop) {
    churn((unsigned)(size_t)seed, 100);
    usleep(1000);
  }
  return 0;
}

static void expect(pid_t child, int status_wanted) {
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != status_wanted << 8) {
    ++bad;
    fprintf(stderr, "child %d ended with %x, not %d\n", child, status, status_wanted);
  }
}

static void make_children(int alone) {
  char* const arguments[] = {"/bin/sh", "-c", "exit 7", 0};
  for (int i = 0; i < 3; ++i) {
    char* before = malloc(1000);
    pid_t child = vfork();
    if (child == 0) {
      execv(arguments[0], arguments);
      _exit(1);
    }
    expect(child, 7);
    if (posix_spawn(&child, arguments[0], 0, 0, arguments, environ) != 0) ++bad;
    expect(child, 7);
    if (system("exit 7") != 7 << 8) ++bad;
    FILE* f = popen("echo out; exit 7", "r");
    char line[10] = "";
    fgets(line, sizeof line, f);
    if (strcmp(line, "out\n") != 0 || pclose(f) != 7 << 8) ++bad;
    // No handler runs for these. With other threads the child may do what a signal handler may.
    if (_Fork != 0) {
      child = _Fork();
      if (child == 0) {
        if (alone) churn(i, 300);
        if (alone) free(before);
        _exit(7);
      }
      expect(child, 7);
    }
    child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      if (alone) churn(i, 300);
      _exit(7);
    }
    expect(child, 7);
    // By fork() at last: these children have a heap in any case.
    child = fork();
    if (child == 0) {
      alarm(10);
      churn(i, 300);
      free(before);
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        churn(i, 300);
        exit(7);
      }
      int status;
      waitpid(grandchild, &status, 0);
      _exit(status >> 8);
    }
    expect(child, 7);
    free(before);
  }
}

// Handlers of the program's: they run before ours close the heap, and after it is open again.
static void* kept;
static void prepare(void) {
  churn(1, 20);
  kept = malloc(5000);
}
static void in_either(void) {
  free(kept);
  kept = 0;
  churn(2, 20);
}

int main(void) {
  make_children(1);
  pthread_atfork(prepare, in_either, in_either);
  make_children(1);
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) pthread_create(&threads[i], 0, churn_until_stop, (void*)i);
  make_children(0);
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  printf("%u children were not as they should be\n", bad);
}
