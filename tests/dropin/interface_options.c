/* mallopt, the second names, and what is refused. A second argument sets M_PERTURB first. */
#define _GNU_SOURCE
#define PROGRAMS_WITHOUT_MAIN
#include <dlfcn.h>
#include <limits.h>
#include <mcheck.h>
#include <signal.h>
#include <tests/dropin/require.h>
#include <tests/support/programs.h>
#include <time.h>

enum { byte = 0x5a, complement = 0xa5 };

static void require_filled(const void* block, size_t from, size_t to, int with) {
  const unsigned char* const bytes = laundered((void*)(uintptr_t)block);
  for (size_t i = from; i < to; ++i) REQUIRE(bytes[i] == with);
}

/* ---- M_PERTURB ---- */

/* What glibc does, too. It keeps links in the first bytes of a free block, may unmap large ones, and
 * fills nothing that goes through its thread cache: so every small size is asked for once. */
static void* all_filled(void* unused) {
  static const size_t sizes[] = {1, 100, 1000, 5000, 40000, 70000, 200000, 3000000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    unsigned char* block = malloc(sizes[i]);
    REQUIRE(block != NULL);
    require_filled(block, 0, sizes[i], complement);
    memset(block, 1, sizes[i]);
    unsigned char* const behind = malloc(70);
    free(block);
    if (sizes[i] == 5000 || sizes[i] == 40000) require_filled(block, 64, sizes[i] / 2, byte);
    unsigned char* const zeros = calloc(sizes[i], 1);
    require_filled(zeros, 0, sizes[i], 0);
    free(zeros);
    free(behind);
  }
  return unused;
}

/* What glibc does not: blocks that a thread's cache gives are filled, and what realloc adds. */
static void* all_filled_here(void* unused) {
  static const size_t sizes[] = {24, 1000, 40000, 200000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    for (int again = 0; again < 3; ++again) {
      unsigned char* const block = malloc(sizes[i]);
      require_filled(block, 0, sizes[i], complement);
      memset(block, 1, sizes[i]);
      free(block);
      /* Among threads the first word is a key. */
      require_filled(block, sizeof(uint64_t), sizes[i] < 131072 ? sizes[i] : 131072, byte);
    }
    unsigned char* grown = malloc(sizes[i]);
    memset(grown, 1, sizes[i]);
    for (size_t size = sizes[i]; size < 40 * sizes[i]; size += size / 3) {
      grown = realloc(grown, size + size / 3);
      REQUIRE(grown != NULL);
      require_filled(grown, 0, size, 1);
      require_filled(grown, size, size + size / 3, complement);
      memset(grown, 1, size + size / 3);
    }
    free(grown);
    unsigned char* const whole = memalign(64, sizes[i]);
    require_filled(whole, 0, sizes[i], complement);
    free(whole);
  }
  return unused;
}

/* With guarded blocks, which nobody can look at once they are freed. */
static void* all_filled_new(void* unused) {
  for (size_t size = 1; size < 300000; size = size * 3 + 1) {
    unsigned char* const block = malloc(size);
    require_filled(block, 0, size, complement);
    unsigned char* const zeros = calloc(size, 1);
    require_filled(zeros, 0, size, 0);
    free(block);
    free(zeros);
  }
  return unused;
}

static void in_thread(void* (*body)(void*)) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, body, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
}
static void here_and_in_thread(void* (*body)(void*)) {
  body(NULL);
  in_thread(body);
}
PROGRAM(filled) { here_and_in_thread(all_filled); }
PROGRAM(filled_here) { here_and_in_thread(all_filled_here); }
PROGRAM(filled_new) { here_and_in_thread(all_filled_new); }
PROGRAM(refused) { REQUIRE(mallopt(M_PERTURB, byte) == 0); }

static pthread_barrier_t both;
static void* hold_a_cache(void* unused) {
  free(malloc(100));
  pthread_barrier_wait(&both);
  pthread_barrier_wait(&both);
  return unused;
}
/* Another thread's hit paths cannot be reached: the call is refused, and changes nothing. */
PROGRAM(late) {
  pthread_t thread;
  REQUIRE(pthread_barrier_init(&both, NULL, 2) == 0);
  REQUIRE(pthread_create(&thread, NULL, hold_a_cache, NULL) == 0);
  pthread_barrier_wait(&both);
  REQUIRE(mallopt(M_PERTURB, byte) == 0);
  REQUIRE(mallopt(M_PERTURB, 0) == 1); /* nothing is filled: so it is done */
  unsigned char* const block = malloc(1000);
  memset(block, 1, 1000);
  free(block);
  require_filled(block, 64, 1000, 1);
  pthread_barrier_wait(&both);
  REQUIRE(pthread_join(thread, NULL) == 0);
  REQUIRE(mallopt(M_PERTURB, byte) == 1); /* that thread is gone */
  all_filled(NULL);
  in_thread(all_filled_here);
  REQUIRE(mallopt(M_PERTURB, 0x33) == 1); /* every call misses by now */
  unsigned char* const other = malloc(1000);
  require_filled(other, 0, 1000, 0xcc);
  REQUIRE(mallopt(M_PERTURB, 0) == 1);
  memset(other, 1, 1000);
  free(other);
  require_filled(other, 64, 1000, 1);
}

/* Filling a block that does not begin there would spoil its neighbours: the fault comes first. */
static unsigned char* neighbours;
static void look_and_end(int unused) {
  (void)unused;
  for (int i = 0; i < 4096; ++i)
    if (neighbours[i] != 1) _exit(1);
  _exit(0);
}
PROGRAM(interior) {
  REQUIRE(mallopt(M_PERTURB, byte) == 1);
  neighbours = malloc(4096);
  memset(neighbours, 1, 4096);
  signal(SIGABRT, look_and_end);
  free(laundered(neighbours + 16));
  _exit(2);
}

/* ---- the other options ---- */

/* As glibc answers. Real-time programs end where the first two are refused. */
PROGRAM(options) {
  REQUIRE(mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, -1) == 1);
  static const int values[] = {INT_MIN, -1, 0, 1, 64, 4096, 1 << 20, INT_MAX};
  for (int parameter = -100; parameter <= 100; ++parameter) {
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
      if (parameter == M_PERTURB) continue;
      const int due = parameter != M_MXFAST || (unsigned)values[i] <= 160;
      errno = E2BIG;
      REQUIRE(mallopt(parameter, values[i]) == due);
      REQUIRE(errno == E2BIG);
    }
  }
}

/* Effects: `bytes` of memory are free. Returns: what could go back after some looks of the heap's. */
static size_t free_after(size_t bytes, int looks) {
  free(memset(malloc(bytes), 1, bytes));
  for (int i = 0; i < looks; ++i) {
    const struct timespec two_ms = {0, 2000000};
    nanosleep(&two_ms, NULL);
    free(malloc(200000)); /* a miss looks */
  }
  return mallinfo2().keepcost;
}
/* Run with ASHLAR_PURGE_DELAY_MS=0: what is not to be kept goes back at the next look. */
PROGRAM(kept) {
  const size_t bytes = (size_t)32 << 20;
  REQUIRE(mallopt(M_TRIM_THRESHOLD, 1 << 26) == 1);
  REQUIRE(free_after(bytes, 20) >= bytes);
  REQUIRE(mallopt(M_TRIM_THRESHOLD, -1) == 1);
  REQUIRE(free_after(2 * bytes, 20) >= 2 * bytes);
  REQUIRE(malloc_trim(0) == 1);
  REQUIRE(mallinfo2().keepcost == 0);
  REQUIRE(mallopt(M_TRIM_THRESHOLD, 0) == 1);
  while (free_after(bytes, 1) >= bytes) {
  }
}

/* ---- names ---- */

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void* __libc_valloc(size_t);
extern void* __libc_pvalloc(size_t);
extern void __libc_free(void*);
extern int __libc_mallopt(int, int);
/* As a program has it that was linked before glibc 2.26. */
extern void old_cfree(void*);
__asm__(".symver old_cfree, cfree@GLIBC_2.2.5");

/* A block of either name may be given to the other; and what glibc has turned off stays off. */
PROGRAM(names) {
  free(__libc_malloc(100));
  free(__libc_calloc(10, 10));
  free(__libc_memalign(64, 100));
  free(__libc_valloc(100));
  free(__libc_pvalloc(100));
  free(__libc_realloc(malloc(100), 2000));
  void* const grown = realloc(__libc_malloc(100), 3000000);
  REQUIRE(malloc_usable_size(grown) >= 3000000);
  __libc_free(grown);
  __libc_free(malloc(100));
  __libc_free(calloc(100, 100));
  old_cfree(malloc(100));
  old_cfree(NULL);
  const size_t before = mallinfo2().hblks;
  void* const large = __libc_malloc((size_t)20 << 20);
  REQUIRE(mallinfo2().hblks == before + 1);
  free(large);
  REQUIRE(__libc_mallopt(M_PERTURB, 0) == 1);
  /* Since glibc 2.34 these do nothing without its libc_malloc_debug.so. */
  REQUIRE(mcheck(NULL) == -1 && mcheck_pedantic(NULL) == -1);
  void* const block = malloc(100);
  REQUIRE(mprobe(block) == MCHECK_DISABLED);
  mcheck_check_all();
  mtrace();
  free(block);
  muntrace();
}

/* What programs cannot name, with this glibc. */
PROGRAM(state) {
  void* (*get)(void);
  int (*set)(void*);
  void (*freed)(void*, size_t);
  void (*freed_aligned)(void*, size_t, size_t);
  *(void**)&get = dlsym(RTLD_DEFAULT, "malloc_get_state");
  *(void**)&set = dlsym(RTLD_DEFAULT, "malloc_set_state");
  *(void**)&freed = dlsym(RTLD_DEFAULT, "free_sized");
  *(void**)&freed_aligned = dlsym(RTLD_DEFAULT, "free_aligned_sized");
  REQUIRE(get != NULL && set != NULL && freed != NULL && freed_aligned != NULL);
  errno = 0;
  REQUIRE(get() == NULL && errno == ENOSYS);
  errno = 0;
  REQUIRE(set(&errno) == -1 && errno == ENOSYS);
  freed(malloc(100), 100);
  freed(realloc(malloc(2000), 1900), 1900);
  freed(NULL, 0);
  freed_aligned(aligned_alloc(64, 128), 64, 128);
}

int main(int argc, char** argv) {
  REQUIRE(argc >= 2);
  if (argc == 3) REQUIRE(mallopt(M_PERTURB, byte) == 1);
  return run_program(argv[1]);
}
