/* What the hardened edition alone promises, one a run, for hardened_test.py. The faults of every heap are in
 * tests/misuse/malloc.c.
 * Run: hardened_misuses MODE SIZE; without arguments it prints its modes. */
#include <tests/dropin/require.h>

enum { others = 4096 };

static char* fresh(size_t size) {
  char* const block = laundered(malloc(size));
  REQUIRE(block != NULL);
  memset(block, 'a', size);
  return block;
}

/* As many blocks of the size come and go as push every freed one out of where it waits. */
static void use_again(size_t size) {
  for (int i = 0; i < others; ++i) {
    void* const one = laundered(malloc(size));
    REQUIRE(one != NULL);
    free(one);
  }
}

static void correct(size_t size) {
  char* blocks[100];
  for (int i = 0; i < 100; ++i) blocks[i] = fresh(size);
  for (int i = 0; i < 100; ++i) free(blocks[i]);
}
static void* free_it(void* block) {
  free(block);
  return NULL;
}
static void double_free_by_a_thread(size_t size) {
  char* const block = fresh(size);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, free_it, block) == 0 && pthread_join(thread, NULL) == 0);
  free(laundered(block));
}
static void usable_size_freed(size_t size) {
  char* const block = fresh(size);
  free(block);
  REQUIRE(malloc_usable_size(laundered(block)) == 0);
}

static void overflow_nul(size_t size) {
  char* const block = fresh(size);
  ((char*)laundered(block))[size] = 0;
  free(block);
}
static void overflow_by_realloc(size_t size) {
  char* const block = fresh(size);
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
static void correct_while_running(size_t size) {
  char* const block = fresh(size);
  two_are_busy();
  free(block);
}
static void overflow_while_running(size_t size) {
  ((char*)laundered(fresh(size)))[size] = 'X';
  two_are_busy();
}
static void addresses(size_t size) {
  printf("%p %p\n", (void*)(size_t)&puts, laundered(malloc(size)));
}
/* Where the bytes from this one on end that the system can read for the process. */
static size_t end_of_access(const char* address, const int pipe[2]) {
  size_t at = (size_t)address & ~(size_t)4095;
  for (char c; write(pipe[1], (const char*)at, 1) == 1; at += 4096)
    REQUIRE(read(pipe[0], &c, 1) == 1);
  REQUIRE(errno == EFAULT);
  return at;
}
/* Between blocks of two classes, and between two large blocks, lies a page that cannot be written to. */
static void apart(size_t size) {
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
static void write_after_free(size_t size) {
  char* const block = fresh(size);
  free(block);
  ((char*)laundered(block))[size / 4 < 1000 ? size / 4 : 1000] = 'X';
  use_again(size);
}

static void* idle(void* nobody) {
  while (nobody == NULL) pause();
  return NULL;
}
/* With another thread that lives on. */
static void overflow_never_freed_two_threads(size_t size) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, idle, NULL) == 0);
  ((char*)laundered(fresh(size)))[size] = 'X';
}

/* Blocks that fill their pages: what is behind them cannot be read. */
static void read_behind(size_t size) {
  const size_t whole_pages = (size + 4095) / 4096 * 4096;
  char* const block = laundered(malloc(whole_pages));
  REQUIRE(block[whole_pages - 1] == 0 && block[whole_pages] != 77);
}
static void read_where_it_was(size_t size) {
  char* const block = fresh(size);
  char* const other = fresh(size); /* else it may grow where it is */
  char* const moved = laundered(realloc(block, 8 * size));
  REQUIRE(moved != block && other != NULL && ((char*)laundered(block))[size / 2] != 77);
}
static void read_what_was_taken_away(size_t size) {
  char* const block = laundered(realloc(fresh(size), size / 4));
  REQUIRE(block[size / 2] != 77);
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
static void no_bytes(size_t size) {
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
static void no_bytes_realloc_freed(size_t size) {
  void* const block = malloc(0);
  free(block);
  REQUIRE(realloc(laundered(block), size) == NULL);
}
static void no_bytes_interior(size_t size) {
  free((char*)laundered(nothing((int)(size % ways))) + 1);
}

static void cleared(size_t size) {
  char* block = fresh(size);
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
static void usable_size(size_t size) {
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

static const struct {
  const char* name;
  void (*run)(size_t size);
} modes[] = {
    {"correct", correct},
    {"cleared", cleared},
    {"usable_size", usable_size},
    {"double_free_by_a_thread", double_free_by_a_thread},
    {"usable_size_freed", usable_size_freed},
    {"overflow_nul", overflow_nul},
    {"overflow_by_realloc", overflow_by_realloc},
    {"correct_while_running", correct_while_running},
    {"overflow_while_running", overflow_while_running},
    {"addresses", addresses},
    {"apart", apart},
    {"write_after_free", write_after_free},
    {"overflow_never_freed_two_threads", overflow_never_freed_two_threads},
    {"read_behind", read_behind},
    {"read_where_it_was", read_where_it_was},
    {"read_what_was_taken_away", read_what_was_taken_away},
    {"no_bytes", no_bytes},
    {"no_bytes_realloc_freed", no_bytes_realloc_freed},
    {"no_bytes_interior", no_bytes_interior},
};

int main(int count, char** arguments) {
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
    if (count < 3)
      puts(modes[i].name);
    else if (strcmp(arguments[1], modes[i].name) == 0)
      modes[i].run(strtoull(arguments[2], NULL, 10));
  }
  if (count >= 3) puts("ended");
  return 0;
}
