/* A program that ends in every way a program can, for the end-to-end tests of the command. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals_seen;

static void count_signal(int number) {
  (void)number;
  ++signals_seen;
}

static void* wait_a_little(void* unused) {
  usleep(500000);
  return unused;
}

/* Keeps `count` blocks of 100 bytes until the end. */
static void allocate(int count) {
  static void* kept[100000];
  for (int i = 0; i < count && i < 100000; ++i) {
    kept[i] = malloc(100);
    if (kept[i] != NULL) memset(kept[i], 1, 100);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "exit";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  printf("out\n");
  fprintf(stderr, "err\n");
  allocate(10000);
  fflush(stdout);
  if (strcmp(what, "exit") == 0) return number;
  if (strcmp(what, "_exit") == 0) _exit(number);
  if (strcmp(what, "raise") == 0) raise(number);
  /* The action is the default one, however it is asked for; then it is set again. */
  if (strcmp(what, "asks") == 0) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0 || action.sa_handler != SIG_DFL) return 1;
    if (signal(number, count_signal) != SIG_DFL) return 2;
    raise(number);
    if (signals_seen != 1) return 3;
    if (sigaction(number, NULL, &action) != 0 || action.sa_handler != count_signal) return 4;
    action.sa_handler = SIG_DFL;
    if (sigaction(number, &action, NULL) != 0) return 5;
    if (signal(number, SIG_IGN) != SIG_DFL) return 6;
    raise(number);
    if (signal(number, SIG_DFL) != SIG_IGN) return 7;
    if (signal(number, SIG_DFL) != SIG_DFL) return 8;
    raise(number);
  }
  /* As a shell does: a forked child ends by the signal first. */
  if (strcmp(what, "clone") == 0) {
    const pid_t child = fork();
    if (child == 0) raise(number);
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != number) return 9;
    raise(number);
  }
  if (strcmp(what, "churn") == 0) {
    printf("ready\n");
    fflush(stdout);
    for (size_t i = 0;; ++i) free(memset(malloc(i % 9 == 0 ? 300000 : 100), 1, 100));
  }
  if (strcmp(what, "threads") == 0) {
    pthread_t id[16];
    for (int i = 0; i < number && i < 16; ++i) pthread_create(&id[i], NULL, wait_a_little, NULL);
    for (int i = 0; i < number && i < 16; ++i) pthread_join(id[i], NULL);
    return 0;
  }
  if (strcmp(what, "cat") == 0) {
    int c;
    while ((c = getchar()) != EOF) putchar(c);
    return 0;
  }
  if (strcmp(what, "children") == 0) {
    for (int i = 0; i < number; ++i) {
      if (fork() == 0) {
        allocate(1000);
        exit(0);
      }
    }
    while (wait(NULL) > 0) {
    }
    return 0;
  }
  /* Says that it is ready, then ends cleanly at the first signal, as a server does. */
  if (strcmp(what, "serve") == 0) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    printf("ready\n");
    fflush(stdout);
    while (signals_seen == 0) usleep(1000);
    return number;
  }
  if (strcmp(what, "hang") == 0) {
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
  }
  /* Misbehaves on any allocator but the system's. */
  if (strcmp(what, "only-system") == 0) return getenv("LD_PRELOAD") != NULL ? 1 : 0;
  return 99;
}
