/* Tags in C, each PROGRAM for sampling_test.py. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include <ashlar/adapt/tags.h>

#define PROGRAMS_WITHOUT_MAIN
#include "tests/dropin/require.h"
#include "tests/support/programs.h"

static int are_there; /* a library looks at tags */

static void* kept[10000]; /* so that nothing is left out */
static size_t kept_count;
static void** keep(size_t blocks, size_t bytes) {
  size_t i = 0;
  for (i = 0; i < blocks; ++i) {
    REQUIRE(kept_count < sizeof kept / sizeof *kept);
    kept[kept_count++] = malloc(bytes);
  }
  return &kept[kept_count - 1];
}
static void expect_now(const char* name) {
  const char* const now = ashlar_tag_now();
  if (are_there)
    REQUIRE(name == NULL ? now == NULL : now != NULL && strcmp(now, name) == 0);
  else
    REQUIRE(now == NULL);
}

PROGRAM(nested) {
  struct ashlar_tag outer, inner, none;
  void** last = NULL;
  ashlar_tag_push(&outer, "outer");
  keep(100, 1000);
  ashlar_tag_push(&inner, "inner");
  expect_now("inner");
  last = keep(50, 3000);
  ashlar_tag_pop(&inner);
  ashlar_tag_push(&none, NULL);
  keep(10, 5000);
  ashlar_tag_pop(&none);
  ashlar_tag_push(&none, "");
  keep(10, 5000);
  ashlar_tag_pop(&none);
  expect_now("outer");
  *last = realloc(*last, 7000); /* from inner to outer */
  ashlar_tag_pop(&outer);
  expect_now(NULL);
  keep(10, 5000);
  free(*last);
  ashlar_tag_push(&inner, "freed");
  last = keep(1, 4000);
  ashlar_tag_pop(&inner);
  free(*last);
}

PROGRAM(many) {
  static char names[300][16];
  size_t i = 0;
  for (i = 0; i < 300; ++i) {
    struct ashlar_tag scope;
    snprintf(names[i], sizeof names[i], "tag %zu", i);
    ashlar_tag_push(&scope, names[i]);
    keep(1, 1000);
    ashlar_tag_pop(&scope);
  }
}

static void under(const char* name) {
  struct ashlar_tag scope;
  ashlar_tag_push(&scope, name);
  keep(1, 1000);
  ashlar_tag_pop(&scope);
}
PROGRAM(odd) {
  char name[101] = {0};
  memset(name, 'x', 63);
  under(name);
  memset(name, 'x', 64);
  under(name);
  memset(name, 'x', 100);
  under(name);
  under("a\"b\\c\nd\xc3\xbc");
}

static void* pop_elsewhere(void* scope) {
  ashlar_tag_pop(scope);
  expect_now(NULL);
  return NULL;
}
PROGRAM(turns) {
  struct ashlar_tag a, b, c;
  pthread_t thread;
  memset(&c, 0, sizeof c);
  ashlar_tag_push(&a, "a");
  ashlar_tag_push(&b, "b");
  ashlar_tag_push(&c, "c");
  ashlar_tag_pop(&b); /* and c in it */
  expect_now("a");
  ashlar_tag_pop(&c);
  ashlar_tag_pop(&b);
  expect_now("a");
  REQUIRE(pthread_create(&thread, NULL, pop_elsewhere, &a) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  expect_now("a");
  memset(&b, 0, sizeof b);
  ashlar_tag_pop(&b); /* never pushed */
  expect_now("a");
  keep(1, 1000);
  ashlar_tag_pop(&a);
  ashlar_tag_pop(&a);
  expect_now(NULL);
}

static jmp_buf back;
__attribute__((noinline)) static void leave(const char* name) {
  struct ashlar_tag scope;
  ashlar_tag_push(&scope, name);
  longjmp(back, 1);
}
__attribute__((noinline)) static void overwrite_stack(void) {
  volatile char bytes[20000];
  size_t i = 0;
  for (i = 0; i < sizeof bytes; ++i) bytes[i] = 0x5a;
}
PROGRAM(left) {
  struct ashlar_tag outer;
  char* const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct ashlar_tag* const gone = (struct ashlar_tag*)page;
  volatile int i = 0;
  REQUIRE(page != MAP_FAILED);
  ashlar_tag_push(&outer, "outer");
  for (i = 0; i < 3; ++i) /* the second scope is where the first one is still innermost */
    if (setjmp(back) == 0) leave("left");
  overwrite_stack();
  keep(1, 1000); /* without a tag */
  expect_now(NULL);
  ashlar_tag_pop(&outer);
  expect_now(NULL);

  ashlar_tag_push(&outer, "outer");
  strcpy(page + 8192 - 5, "last"); /* a name that ends with what can be read */
  ashlar_tag_push(gone, page + 8192 - 5);
  keep(1, 1000);
  REQUIRE(mprotect(page + 4096, 4096, PROT_NONE) == 0);
  keep(1, 1000); /* its name is gone, */
  REQUIRE(munmap(page, 8192) == 0);
  keep(1, 1000);          /* and now it is, too */
  ashlar_tag_pop(&outer); /* the list breaks off before it */
  expect_now(NULL);
  keep(1, 1000);
}

static volatile sig_atomic_t signals_seen;
static void handle(int number) {
  struct ashlar_tag scope;
  (void)number;
  ashlar_tag_push(&scope, "handler");
  ++signals_seen;
  ashlar_tag_pop(&scope);
}
PROGRAM(signals) {
  const struct itimerval often = {{0, 200}, {0, 200}};
  struct ashlar_tag outer;
  ashlar_tag_push(&outer, "outer");
  REQUIRE(signal(SIGALRM, handle) != SIG_ERR && setitimer(ITIMER_REAL, &often, NULL) == 0);
  while (signals_seen < 1000) {
    struct ashlar_tag inner;
    ashlar_tag_push(&inner, "inner");
    free(malloc(1000));
    expect_now("inner");
    ashlar_tag_pop(&inner);
    expect_now("outer");
  }
  ashlar_tag_pop(&outer);
}

static void* cached[150];
static size_t first_cached, end_cached, dropped;
static void drop(size_t bytes_to_drop, void* argument) {
  size_t i = 0;
  REQUIRE(argument == cached);
  dropped += bytes_to_drop;
  for (i = 0; i < 50; ++i) free(cached[first_cached++]);
}
/* ASHLAR_TAG_LIMIT=parser=100000: the 101st block is above it, and what drop frees is below. */
PROGRAM(limit) {
  int (*on_limit)(void (*)(size_t, void*), void*, unsigned) = NULL;
  struct ashlar_tag scope;
  ashlar_find_loaded("ashlar_on_limit", &on_limit, sizeof on_limit);
  if (are_there) REQUIRE(on_limit(drop, cached, 0) == 0);
  ashlar_tag_push(&scope, "parser");
  while (end_cached < 150) {
    void* const block = malloc(1000);
    cached[end_cached++] = block;
  }
  ashlar_tag_pop(&scope);
  REQUIRE(dropped == (are_there ? 1000 : 0));
}

PROGRAM(speed) {
  struct timespec begin, end;
  const int rounds = 20000000;
  int i = 0;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  for (i = 0; i < rounds; ++i) {
    struct ashlar_tag scope;
    ashlar_tag_push(&scope, "parser");
    ashlar_tag_pop(&scope);
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  printf(
      "%.2f ns a scope\n",
      ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / rounds);
}

int main(int argc, char** argv) {
  struct ashlar_tag scope;
  int status = 0;
  ashlar_tag_push(&scope, "are they there?");
  are_there = ashlar_tag_now() != NULL;
  ashlar_tag_pop(&scope);
  status = run_program(argc == 2 ? argv[1] : NULL);
  if (status == 0) printf("tags are %s\n", are_there ? "there" : "not there");
  return status;
}
