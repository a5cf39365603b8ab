/* A program whose calls of the allocator are known: marks enclose them, and each test looks at what lies between. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
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
      free(block); /* its first event is the most usual one */
      mark("child");
      free(keep(malloc((size_t)(500 + i))));
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  free(block);
}

/* What it leaves behind has allocated before the program ends, and lives on. */
static void daemonise(void) {
  int done[2];
  char byte = 0;
  if (pipe(done) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    keep(malloc(888));
    if (write(done[1], &byte, 1) != 1) abort();
    alarm(20);
    pause();
  }
  waitpid(child, NULL, 0);
  if (read(done[0], &byte, 1) != 1) abort();
}

static void many(long count) {
  for (long i = 0; i < count; ++i) free(keep(malloc((size_t)(1 + i % 1000))));
}

/* Threads that take each other's blocks: what one thread frees, another one has at once. */
static _Atomic(void*) exchanged[8];
static pthread_barrier_t together;
static void exchange_by(void* (*thread)(void*)) {
  pthread_t ids[4];
  if (pthread_barrier_init(&together, NULL, 4) != 0) abort();
  for (size_t i = 0; i < 4; ++i)
    if (pthread_create(&ids[i], NULL, thread, (void*)(i + 1)) != 0) abort();
  for (size_t i = 0; i < 4; ++i) pthread_join(ids[i], NULL);
  for (size_t i = 0; i < 8; ++i) free(atomic_exchange(&exchanged[i], NULL));
}
static void* crowd_thread(void* seed) {
  unsigned random = (unsigned)(size_t)seed;
  for (int i = 0; i < 100000; ++i) {
    if (i % 500 == 0) pthread_barrier_wait(&together); /* else one is done before the next begins */
    random = random * 1103515245u + 12345u;
    void* const mine = malloc(1001);
    free(atomic_exchange(&exchanged[random >> 16 & 7], mine));
  }
  return NULL;
}

/* Threads that take each other's blocks and resize them: a realloc frees what another one has at once. */
static void* resizing_thread(void* seed) {
  unsigned random = (unsigned)(size_t)seed;
  for (int i = 0; i < 50000; ++i) {
    if (i % 500 == 0) pthread_barrier_wait(&together);
    random = random * 1103515245u + 12345u;
    void* const mine = atomic_exchange(&exchanged[random >> 16 & 7], NULL);
    void* const resized = realloc(mine, i % 2 == 0 ? 1001 : 2002);
    free(atomic_exchange(&exchanged[random >> 20 & 7], resized));
  }
  return NULL;
}

/* The C library frees what it keeps for a thread when that has no destructors left to run. */
static void* failing_thread(void* unused) {
  keep(strerror(12345)); /* a text that is made up, and kept */
  return unused;
}
static void failures(long count) {
  for (long i = 0; i < count; ++i) {
    pthread_t id;
    if (pthread_create(&id, NULL, failing_thread, NULL) != 0) abort();
    pthread_join(id, NULL);
  }
}

/* Large blocks, of each of which one MiB is touched; their sizes tell them apart. With mallopt() no
   block has pages of an earlier one. */
static const size_t mebibyte = (size_t)1 << 20;
static char* touched(void* block) {
  memset(block, 1, mebibyte);
  return keep(block);
}
static void* free_it(void* block) {
  free(block);
  return NULL;
}
static void touches(void) {
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mark("begin");
  free(touched(malloc(4 * mebibyte)));
  free(touched(aligned_alloc(4096, mebibyte)));
  free(keep(malloc(60 << 10)));
  keep(realloc(touched(malloc(3 * mebibyte)), 100));
  pthread_t id;
  if (pthread_create(&id, NULL, free_it, touched(malloc(5 * mebibyte))) != 0) abort();
  pthread_join(id, NULL);
  void* const inherited = touched(malloc(8 * mebibyte));
  const pid_t child = fork();
  if (child == 0) {
    touched(malloc(6 * mebibyte));
    free(inherited);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  touched(malloc(7 * mebibyte));
}

static void large(long count) {
  for (long i = 0; i < count; ++i) free(keep(malloc(64 << 10)));
}

/* Any other word, such as "nothing": nothing. */
int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "calls";
  if (strcmp(what, "calls") == 0) calls();
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "crowd") == 0) exchange_by(crowd_thread);
  if (strcmp(what, "forks") == 0) forks();
  if (strcmp(what, "daemon") == 0) daemonise();
  if (strcmp(what, "many") == 0) many(argc > 2 ? atol(argv[2]) : 100000);
  if (strcmp(what, "touches") == 0) touches();
  if (strcmp(what, "large") == 0) large(argc > 2 ? atol(argv[2]) : 1000);
  if (strcmp(what, "failures") == 0) failures(argc > 2 ? atol(argv[2]) : 1000);
  if (strcmp(what, "resizing") == 0) exchange_by(resizing_thread);
  if (strcmp(what, "endless") == 0) {
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (;;) many(100000);
  }
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
    execl(argv[0], argv[0], argc > 2 ? argv[2] : "calls", (char*)NULL);
  }
  if (strcmp(what, "starts") == 0) {
    const pid_t child = fork();
    if (child == 0) execl(argv[2], argv[2], (char*)NULL);
    waitpid(child, NULL, 0);
  }
  if (strcmp(what, "wait") == 0) {
    keep(malloc(777));
    puts("ready");
    fflush(stdout);
    pause();
  }
  return 0;
}
