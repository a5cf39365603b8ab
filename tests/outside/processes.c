// Forks, children and what they live in. Usage: outside_processes NAME
#include <tests/support/programs.h>

#include "outside.h"

// a_daemon_lives_on: daemon() from a process with threads: the grandchild has no descriptors, allocates, starts threads and forks again.
static void* body(void* p) {
  use_heap((unsigned)(size_t)p, 2000);
  return malloc(77);
}

PROGRAM(a_daemon_lives_on) {
  int tell[2];
  pthread_t t;
  void* block;
  CHECK(pipe(tell) == 0 && pthread_create(&t, NULL, body, NULL) == 0);
  char* kept = strdup("kept by the daemon");
  pid_t child = fork();
  if (child == 0) {
    CHECK(daemon(0, 0) == 0);
    for (int i = 3; i < 20; ++i)
      if (i != tell[1]) close(i);
    CHECK(pthread_create(&t, NULL, body, (void*)3) == 0 && pthread_join(t, &block) == 0);
    free(block);
    CHECK_CHILD(5, use_heap(5, 500));
    write(tell[1], kept, strlen(kept));
    free(kept);
    exit(0);
  }
  close(tell[1]);
  pthread_join(t, &block);
  free(block);
  CHECK(wait_for(child) == 0);
  char told[64] = {0};
  read(tell[0], told, 63);
  free(kept);
  printf("%s\n", told);
}

// children_by_every_way: Children that are made in other ways than by fork(), while other threads use the heap: vfork and exec, posix_spawn, system, popen, _Fork and the clone system call. And fork() within handlers of forks that allocate and free.
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

PROGRAM(children_by_every_way) {
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

// clones_that_share_memory: clone(CLONE_VM) on a stack of malloc, as container runtimes do: the child writes to its parent's blocks and ends.
static int child_body(void* p) {
  strcpy((char*)p, "written by the child");
  return 6;
}

PROGRAM(clones_that_share_memory) {
  begin_busy(1);
  for (int i = 0; i < 200; ++i) {
    char* stack = (char*)malloc(64 * 1024);
    char* text = (char*)calloc(1, 100);
    pid_t child = clone(child_body, stack + 64 * 1024 - 16,
                        CLONE_VM | (i % 2 ? CLONE_VFORK : 0) | SIGCHLD, text);
    use_heap((unsigned)i, 20);
    CHECK(wait_for(child) == 6 && strcmp(text, "written by the child") == 0);
    free(text);
    free(stack);
  }
  end_busy();
  puts("ok");
}

// generations_of_forks: A child forks a child, twenty times over; each one has threads, frees a block of each ancestor, and exits by exit().
enum { generations = 20 };
static char* inherited[generations + 1];

static void* busy(void* p) {
  use_heap((unsigned)(size_t)p, 300);
  return malloc(50);
}
static void at_end(void) { free(realloc(malloc(100), 90000)); }

PROGRAM(generations_of_forks) {
  atexit(at_end);
  int generation = 0;
  for (;;) {
    pthread_t t[2];
    void* block;
    inherited[generation] = strdup("an heirloom");
    for (int i = 0; i < 2; ++i)
      CHECK(pthread_create(&t[i], NULL, busy, (void*)(size_t)(generation + i)) == 0);
    pid_t child = generation < generations ? fork() : -1;
    if (child == 0) {
      ++generation;
      for (int i = 0; i < generation; ++i) {
        CHECK(strcmp(inherited[i], "an heirloom") == 0);
        free(inherited[i]);
        inherited[i] = strdup("an heirloom");
      }
      continue;
    }
    for (int i = 0; i < 2; ++i) pthread_join(t[i], &block), free(block);
    int below = child > 0 ? wait_for(child) : 0;
    if (generation == 0) printf("generations: %d\n", below);
    exit(generation == 0 ? 0 : below + 1);
  }
}

// in_a_namespace_of_its_own: unshare of users, mounts and processes asks for a process of one thread; the child is process 1 and allocates.
// Editions: default full guarded hardened samples
PROGRAM(in_a_namespace_of_its_own) {
  pid_t child = fork();
  if (child == 0) {
    use_heap(1, 500);
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(77);
    use_heap(2, 500);
    pid_t first = fork();
    if (first == 0) {
      pthread_t t;
      CHECK(getpid() == 1 && pthread_create(&t, NULL, use_heap_in_thread, NULL) == 0);
      pthread_join(t, NULL);
      pid_t second = fork();
      if (second == 0) use_heap(3, 100), _exit(2);
      _exit(wait_for(second) + 1);
    }
    _exit(wait_for(first));
  }
  int status = wait_for(child);
  if (status == 77) exit(77);
  printf("%d\n", status);
}

// in_an_empty_root: chroot to an empty folder, then another user without rights, not dumpable: no /proc, no /sys, nothing to read.
static void* body_root(void* p) {
  use_heap(4, 1000);
  return strdup("of a thread");
}

PROGRAM(in_an_empty_root) {
  char name[] = "/tmp/empty_XXXXXX";
  if (mkdtemp(name) == NULL) exit(77);
  pid_t child = fork();
  if (child == 0) {
    if (chroot(name) != 0 || chdir("/") != 0) _exit(77);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(77);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (int i = 0; i < 5; ++i) {
      pthread_t t;
      void* text;
      use_heap((unsigned)i, 5000);
      CHECK(pthread_create(&t, NULL, body_root, NULL) == 0 && pthread_join(t, &text) == 0);
      free(text);
      char* large = (char*)realloc(calloc(1, 20 << 20), 60 << 20);
      CHECK(large != NULL && large[20 << 20 >> 1] == 0);
      free(large);
      malloc_trim(0);
      mallinfo2();
      CHECK_CHILD(6, use_heap(6, 100));
    }
    _exit(5);
  }
  int status = wait_for(child);
  rmdir(name);
  if (status == 77) exit(77);
  printf("%d\n", status);
}
