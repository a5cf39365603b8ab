/* What the hardened edition alone promises, one a run, for hardened_test.py. The faults of every heap are in
 * tests/misuse/malloc.c.
 * Run: hardened_misuses MODE SIZE; without arguments it prints its modes. */
#define PROGRAMS_WITHOUT_MAIN
#include <tests/dropin/require.h>
#include <tests/support/programs.h>

static size_t size; /* of the blocks */

enum { others = 4096 };

static char* fresh(void) {
  char* const block = laundered(malloc(size));
  REQUIRE(block != NULL);
  memset(block, 'a', size);
  return block;
}

/* As many blocks of the size come and go as push every freed one out of where it waits. */
static void use_again(void) {
  for (int i = 0; i < others; ++i) {
    void* const one = laundered(malloc(size));
    REQUIRE(one != NULL);
    free(one);
  }
}

PROGRAM(correct) {
  char* blocks[100];
  for (int i = 0; i < 100; ++i) blocks[i] = fresh();
  for (int i = 0; i < 100; ++i) free(blocks[i]);
}
static void* free_it(void* block) {
  free(block);
  return NULL;
}
PROGRAM(double_free_by_a_thread) {
  char* const block = fresh();
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, free_it, block) == 0 && pthread_join(thread, NULL) == 0);
  free(laundered(block));
}
PROGRAM(usable_size_freed) {
  char* const block = fresh();
  free(block);
  REQUIRE(malloc_usable_size(laundered(block)) == 0);
}

PROGRAM(overflow_nul) {
  char* const block = fresh();
  ((char*)laundered(block))[size] = 0;
  free(block);
}
PROGRAM(overflow_by_realloc) {
  char* const block = fresh();
  ((char*)laundered(block))[size] = 'X';
  void* const moved = laundered(realloc(block, size + 100));
  REQUIRE(moved == NULL);
}

/* Two threads take, resize and free blocks of many sizes, and pass some on to each other. */
enum { held = 2000, rounds = 600 };
static void* volatile passed[held];
static void* be_busy(void* first) {
  void* mine[held] = {NULL};
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = 0; i < held; ++i) {
      const size_t bytes = 1 + (i * 37 + round * 101 + (size_t)first) % 900;
      void* const other = __atomic_exchange_n(&passed[i], mine[i], __ATOMIC_ACQ_REL);
      mine[i] = i % 3 == 0 ? laundered(realloc(other, bytes)) : malloc(bytes);
      if (i % 3 != 0) free(other);
      REQUIRE(mine[i] != NULL);
      memset(mine[i], 0xff, bytes);
    }
  for (size_t i = 0; i < held; ++i) free(mine[i]);
  return NULL;
}
static void two_are_busy(void) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, be_busy, (void*)&passed) == 0);
  be_busy(NULL);
  REQUIRE(pthread_join(thread, NULL) == 0);
}
PROGRAM(correct_while_running) {
  char* const block = fresh();
  two_are_busy();
  free(block);
}
PROGRAM(overflow_while_running) {
  ((char*)laundered(fresh()))[size] = 'X';
  two_are_busy();
}
PROGRAM(addresses) { printf("%p %p\n", (void*)(size_t)&puts, laundered(malloc(size))); }
/* Where the bytes from this one on end that the system can read for the process. */
static size_t end_of_access(const char* address, const int pipe[2]) {
  size_t at = (size_t)address & ~(size_t)4095;
  for (char c; write(pipe[1], (const char*)at, 1) == 1; at += 4096)
    REQUIRE(read(pipe[0], &c, 1) == 1);
  REQUIRE(errno == EFAULT);
  return at;
}
/* Between blocks of two classes, and between two large blocks, lies a page that cannot be written to. */
PROGRAM(apart) {
  enum { kinds = 3, count = 400, looked_at = 50 };
  char* last[kinds][looked_at];
  const size_t sizes[kinds] = {size, size < 1000 ? 2000 : 500, size < 1000000 ? 300000 : 150000};
  for (int i = 0; i < count; ++i)
    for (int kind = 0; kind < kinds; ++kind) {
      /* Few large blocks: they would be a gigabyte. */
      if (sizes[kind] > 100000 && i < count - looked_at) continue;
      char* const block = laundered(malloc(sizes[kind]));
      REQUIRE(block != NULL);
      block[0] = 1;
      if (i >= count - looked_at) last[kind][i - (count - looked_at)] = block;
    }
  int through[2];
  REQUIRE(pipe(through) == 0);
  size_t ends[kinds][looked_at];
  for (int kind = 0; kind < kinds; ++kind)
    for (int i = 0; i < looked_at; ++i) ends[kind][i] = end_of_access(last[kind][i], through);
  for (int kind = 0; kind < kinds; ++kind)
    for (int i = 0; i < looked_at; ++i)
      for (int other = kind; other < kinds; ++other)
        for (int j = 0; j < looked_at; ++j) {
          const int may_touch = other == kind && (i == j || sizes[kind] <= 131064);
          REQUIRE(may_touch || ends[other][j] != ends[kind][i]);
        }
}
/* Of a block above 1 KiB its first KiB is looked at; the pages of one without a class cannot be accessed. */
PROGRAM(write_after_free) {
  char* const block = fresh();
  free(block);
  ((char*)laundered(block))[size / 4 < 1000 ? size / 4 : 1000] = 'X';
  use_again();
}

static void* idle(void* nobody) {
  while (nobody == NULL) pause();
  return NULL;
}
/* With another thread that lives on. */
PROGRAM(overflow_never_freed_two_threads) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, idle, NULL) == 0);
  ((char*)laundered(fresh()))[size] = 'X';
}

/* Blocks that fill their pages: what is behind them cannot be read. */
PROGRAM(read_behind) {
  const size_t whole_pages = (size + 4095) / 4096 * 4096;
  char* const block = laundered(malloc(whole_pages));
  REQUIRE(block[whole_pages - 1] == 0 && block[whole_pages] != 77);
}
PROGRAM(read_where_it_was) {
  char* const block = fresh();
  char* const other = fresh(); /* else it may grow where it is */
  char* const moved = laundered(realloc(block, 8 * size));
  REQUIRE(moved != block && other != NULL && ((char*)laundered(block))[size / 2] != 77);
}
PROGRAM(read_what_was_taken_away) {
  char* const block = laundered(realloc(fresh(), size / 4 * 3));
  REQUIRE(block[size - 1] != 77);
}

/* ---- blocks of no bytes ---- */
enum { ways = 8 };
static void* nothing(int way) {
  void* block = NULL;
  switch (way) {
    case 0:
      return malloc(0);
    case 1:
      return calloc(0, 8);
    case 2:
      return calloc(8, 0);
    case 3:
      return realloc(NULL, 0);
    case 4:
      return aligned_alloc(64, 0);
    case 5:
      return memalign(4096, 0);
    case 6:
      return posix_memalign(&block, 128, 0) == 0 ? block : NULL;
    default:
      return reallocarray(NULL, 0, 3);
  }
}
PROGRAM(no_bytes) {
  void* blocks[100 * ways];
  for (int i = 0; i < 100 * ways; ++i) {
    blocks[i] = laundered(nothing(i % ways));
    REQUIRE(blocks[i] != NULL && malloc_usable_size(blocks[i]) == 0 && (size_t)blocks[i] % 16 == 0);
    if (i % ways == 5) REQUIRE((size_t)blocks[i] % 4096 == 0);
    for (int j = 0; j < i; ++j) REQUIRE(blocks[i] != blocks[j]);
  }
  for (int i = 0; i < 100 * ways; ++i) {
    if (i % 3 == 0) blocks[i] = laundered(realloc(blocks[i], size));
    if (i % 3 == 0) memset(blocks[i], 1, size);
    if (i % 3 == 1) REQUIRE(realloc(blocks[i], 0) == NULL);
    if (i % 3 != 1) free(blocks[i]);
  }
}
PROGRAM(no_bytes_realloc_freed) {
  void* const block = malloc(0);
  free(block);
  REQUIRE(realloc(laundered(block), size) == NULL);
}
PROGRAM(no_bytes_interior) { free((char*)laundered(nothing((int)(size % ways))) + 1); }

PROGRAM(cleared) {
  char* block = fresh();
  free(block);
  /* The pages of a large block cannot be read any more. */
  for (size_t i = 0; size <= 131064 && i < size; ++i) REQUIRE(((char*)laundered(block))[i] == 0);
  /* Every new block is zero, and so is what a block grows by. */
  for (int i = 0; i < 200; ++i) {
    char* const one = laundered(malloc(size));
    for (size_t j = 0; j < size; ++j) REQUIRE(one[j] == 0);
    memset(one, 'b', size);
    char* const grown = laundered(realloc(one, size + size / 2 + 40));
    for (size_t j = 0; j < size + size / 2 + 40; ++j) REQUIRE(grown[j] == (j < size ? 'b' : 0));
    char* const shrunk = laundered(realloc(grown, size / 3 + 1));
    char* const regrown = laundered(realloc(shrunk, size));
    for (size_t j = 0; j < size; ++j) REQUIRE(regrown[j] == (j < size / 3 + 1 ? 'b' : 0));
    free(regrown);
  }
}
PROGRAM(usable_size) {
  void* block = malloc(size);
  REQUIRE(malloc_usable_size(block) == size);
  block = realloc(block, size + 5);
  REQUIRE(malloc_usable_size(block) == size + 5);
  block = realloc(block, size - 3);
  REQUIRE(malloc_usable_size(block) == size - 3);
  memset(block, 1, size - 3);
  free(block);
  block = memalign(4096, size);
  REQUIRE((size_t)block % 4096 == 0 && malloc_usable_size(block) == size);
  memset(block, 1, size);
  free(block);
}

int main(int count, char** arguments) {
  if (count < 3) return run_program(NULL);
  size = strtoull(arguments[2], NULL, 10);
  const int status = run_program(arguments[1]);
  puts("ended");
  return status;
}
