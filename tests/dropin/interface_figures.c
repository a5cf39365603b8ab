/* What mallinfo, mallinfo2, malloc_info and malloc_stats say, on the C library and on the drop-in. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdatomic.h>
#include <tests/dropin/require.h>
#include <tests/support/programs.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* mallinfo */

enum { block_count = 1000, block_bytes = 3000, large_count = 3 };
static const size_t large_bytes = (size_t)10 << 20;
static void* blocks[block_count];
static void* large[large_count];

static struct mallinfo2 consistent(void) {
  errno = E2BIG;
  const struct mallinfo2 info = mallinfo2();
  const struct mallinfo narrow = mallinfo();
  REQUIRE(errno == E2BIG);
  REQUIRE(info.arena == info.uordblks + info.fordblks);
  REQUIRE(info.usmblks == 0);
  REQUIRE(info.fsmblks <= info.fordblks && info.keepcost <= info.fordblks);
  REQUIRE(info.fordblks == 0 || info.ordblks + info.smblks != 0);
  REQUIRE((size_t)narrow.arena == info.arena && (size_t)narrow.ordblks == info.ordblks);
  REQUIRE((size_t)narrow.smblks == info.smblks && (size_t)narrow.hblks == info.hblks);
  REQUIRE((size_t)narrow.hblkhd == info.hblkhd && (size_t)narrow.usmblks == info.usmblks);
  REQUIRE((size_t)narrow.fsmblks == info.fsmblks && (size_t)narrow.uordblks == info.uordblks);
  REQUIRE((size_t)narrow.fordblks == info.fordblks && (size_t)narrow.keepcost == info.keepcost);
  return info;
}

static void take_blocks(void) {
  for (int i = 0; i < block_count; ++i) {
    blocks[i] = malloc(block_bytes);
    REQUIRE(blocks[i] != NULL);
    memset(blocks[i], 1, block_bytes);
  }
}
static void free_blocks(void) {
  for (int i = 0; i < block_count; ++i) free(blocks[i]);
}
static void take_large(void) {
  for (int i = 0; i < large_count; ++i) REQUIRE((large[i] = malloc(large_bytes)) != NULL);
}
static void free_large(void) {
  for (int i = 0; i < large_count; ++i) free(large[i]);
}

static void* take_in_thread(void* unused) {
  take_blocks();
  return unused;
}

static int is_about(size_t figure, size_t least) {
  return figure >= least && figure <= least + least / 8;
}

PROGRAM(sums) {
  const size_t bytes = (size_t)block_count * block_bytes;
  const size_t cached = 64 * 1024; /* what glibc's thread cache may hold of the freed ones */
  const struct mallinfo2 before = consistent();
  take_blocks();
  void* const behind = malloc(100); /* so that glibc cannot give the freed ones back at once */
  const struct mallinfo2 full = consistent();
  REQUIRE(is_about(full.uordblks - before.uordblks, bytes));
  REQUIRE(full.hblks == before.hblks && full.hblkhd == before.hblkhd);
  free_blocks();
  const struct mallinfo2 after = consistent();
  REQUIRE(after.uordblks <= before.uordblks + cached);
  REQUIRE(after.fordblks >= bytes - cached);

  REQUIRE(malloc_trim(0) == 1);
  const struct mallinfo2 trimmed = consistent();
  REQUIRE(trimmed.uordblks <= before.uordblks + cached);

  take_large();
  const struct mallinfo2 with_large = consistent();
  REQUIRE(with_large.hblks == before.hblks + large_count);
  REQUIRE(is_about(with_large.hblkhd - before.hblkhd, large_count * large_bytes));
  REQUIRE(with_large.uordblks == trimmed.uordblks && with_large.arena == trimmed.arena);
  free_large();
  const struct mallinfo2 without_large = consistent();
  REQUIRE(without_large.hblks == before.hblks && without_large.hblkhd == before.hblkhd);

  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, take_in_thread, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  REQUIRE(is_about(consistent().uordblks - before.uordblks + cached, bytes + cached));
  free_blocks();
  REQUIRE(consistent().uordblks <= before.uordblks + 2 * cached);
  free(behind);
}

/* What differs from glibc, on purpose. */
PROGRAM(ours) {
  void* const huge = malloc((size_t)3 << 30);
  REQUIRE(huge != NULL); /* it is not written to */
  REQUIRE(mallinfo2().hblkhd >= (size_t)3 << 30);
  REQUIRE(mallinfo().hblkhd == INT_MAX && mallinfo().hblks == 1);
  free(huge);
  REQUIRE(mallinfo().hblkhd == 0);
  take_blocks();
  free_blocks();
  REQUIRE(malloc_trim(0) == 1);
  REQUIRE(malloc_trim(0) == 0);
  REQUIRE(mallinfo2().keepcost == 0);
  const struct mallinfo2 trimmed = mallinfo2();
  void* const block = malloc((size_t)1 << 20);
  memset(block, 1, (size_t)1 << 20);
  free(block);
  /* Free with it is the page behind it, if that was closed. */
  const size_t freed = mallinfo2().keepcost - trimmed.keepcost; /* for malloc_trim */
  REQUIRE(freed == (size_t)1 << 20 || freed == ((size_t)1 << 20) + (size_t)sysconf(_SC_PAGESIZE));
  REQUIRE(mallinfo2().fordblks == trimmed.fordblks + freed);
}

/* One state, told in all ways; interface_test.py reads it. */
PROGRAM(print) {
  static char buffer[1 << 16];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  take_blocks();
  take_large();
  for (int i = 0; i < block_count; i += 2) free(blocks[i]);
  REQUIRE(malloc(20000) != NULL); /* glibc sorts the freed ones now, and tells of them by size */
  const struct mallinfo2 info = mallinfo2();
  REQUIRE(malloc_info(0, stdout) == 0);
  malloc_stats();
  printf(
      "mallinfo2 arena=%zu ordblks=%zu smblks=%zu hblks=%zu hblkhd=%zu fsmblks=%zu uordblks=%zu "
      "fordblks=%zu keepcost=%zu\n",
      info.arena, info.ordblks, info.smblks, info.hblks, info.hblkhd, info.fsmblks, info.uordblks,
      info.fordblks, info.keepcost);
}

static atomic_int done;
static void* allocate_until_done(void* unused) {
  while (!atomic_load(&done)) free(malloc(100000)), free(malloc(100)), free(malloc(1000000));
  return unused;
}
/* Figures are told while other threads allocate, to streams whose buffers the library allocates. */
PROGRAM(busy) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i)
    REQUIRE(pthread_create(&threads[i], NULL, allocate_until_done, NULL) == 0);
  for (int i = 0; i < 300; ++i) {
    FILE* const nowhere = fopen("/dev/null", "w");
    REQUIRE(nowhere != NULL && malloc_info(0, nowhere) == 0);
    REQUIRE(fclose(nowhere) == 0);
    REQUIRE(freopen("/dev/null", "w", stderr) != NULL);
    REQUIRE(setvbuf(stderr, NULL, _IOFBF, 0) == 0);
    malloc_stats();
    const struct mallinfo2 info = mallinfo2();
    REQUIRE(info.arena == info.uordblks + info.fordblks);
  }
  atomic_store(&done, 1);
  for (int i = 0; i < 3; ++i) REQUIRE(pthread_join(threads[i], NULL) == 0);
}
