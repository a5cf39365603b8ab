/* A program whose calls of the allocator are known: marks enclose them, and each test looks at what lies between. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void ashlar_record_mark(const char* text) __attribute__((weak));
static void mark(const char* text) {
  if (ashlar_record_mark != NULL) ashlar_record_mark(text);
}

static void* volatile shared;
/* Else the compiler leaves out a block that nobody looks at. */
static void* keep(void* block) {
  shared = block;
  return block;
}

static void calls(void) {
  mark("begin");
  void* a = keep(malloc(24));
  void* b = keep(calloc(3, 100));
  void* c = keep(aligned_alloc(64, 128));
  void* d = NULL;
  if (posix_memalign(&d, 256, 40) != 0) abort();
  a = keep(realloc(a, 5000));
  void* e = keep(realloc(NULL, 7));
  void* f = keep(reallocarray(NULL, 5, 6));
  void* g = keep(memalign(32, 9));
  void* h = keep(valloc(11));
  free(NULL);
  free(b);
  free(c);
  free(d);
  free(e);
  free(f);
  free(g);
  free(h);
  free(a);
  mark("end");
}

static void* thread(void* block) {
  free(block);
  return keep(malloc(333));
}
static void threads(void) {
  mark("begin");
  for (int i = 0; i < 3; ++i) {
    pthread_t id;
    void* back = NULL;
    if (pthread_create(&id, NULL, thread, malloc(222)) != 0) abort();
    pthread_join(id, &back);
    free(back);
  }
  mark("end");
}

/* Half of the children are made behind the C library's back. */
static void forks(void) {
  void* block = keep(malloc(444));
  for (int i = 0; i < 4; ++i) {
    const pid_t child = i % 2 == 0 ? fork() : (pid_t)syscall(SYS_fork);
    if (child == 0) {
      mark("child");
      free(block);
      free(keep(malloc((size_t)(500 + i))));
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  free(block);
}

static void many(long count) {
  for (long i = 0; i < count; ++i) free(keep(malloc((size_t)(1 + i % 1000))));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "calls";
  if (strcmp(what, "calls") == 0) calls();
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "forks") == 0) forks();
  if (strcmp(what, "many") == 0) many(argc > 2 ? atol(argv[2]) : 100000);
  if (strcmp(what, "kill") == 0) {
    many(50000);
    keep(malloc(777));
    kill(getpid(), SIGKILL);
  }
  if (strcmp(what, "_exit") == 0) {
    keep(malloc(777));
    _exit(3);
  }
  if (strcmp(what, "exec") == 0) {
    keep(malloc(777));
    execl(argv[0], argv[0], "calls", (char*)NULL);
  }
  if (strcmp(what, "wait") == 0) {
    keep(malloc(777));
    puts("ready");
    fflush(stdout);
    pause();
  }
  return 0;
}
