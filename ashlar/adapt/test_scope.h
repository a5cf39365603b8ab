/* adapt/test_scope.h: count a thread's allocations in a test, and forbid them (C99 and C++).
 *
 * A test scope lasts from ashlar_test_begin to ashlar_test_end. It counts what the calling thread
 * allocates and frees meanwhile, wherever the call stands: in the program, in the C library, in any
 * other library. Calls of other threads are not counted, and cost as much as before. Outside of
 * scopes a hit costs nothing more, and a miss 3 instructions.
 *
 * What is counted: calls of malloc, free and their kin and of operator new and delete, where the
 * drop-in library serves them (preloaded, or linked); and calls of xmalloc, ashlar::allocator and
 * the other faces of the process heap, where libashlar is linked. If both are there, a scope counts
 * both. Pools, arenas and heap instances count for themselves.
 *
 * Where none of it can be counted, because another malloc serves the process, nothing is reported
 * as zero: ashlar_test_why_not says so, and ashlar_test_begin fails. The same holds beside a
 * sanitizer, whose malloc takes the place of the heap (docs/decisions/0028). The functions find out
 * by trying.
 *
 * Special cases:
 * - Scopes nest, up to 16. A call counts for each scope that is open in its thread.
 * - A realloc of a block counts as an allocation and a free, whether the block moves or stays. So
 *   the figures do not depend on the heap's sizes. A realloc of null is an allocation, and one to
 *   size 0 a free.
 * - A block from before the scope, or of another thread, that is freed in the scope counts as a
 *   free only.
 * - A block of the scope that another thread frees stays live in the figures until ashlar_test_now
 *   or ashlar_test_end looks. Both ask the heap about each live block. A block whose address was
 *   given out again meanwhile, to another thread, seems live.
 * - A fork copies the open scopes: the child's go on for the child.
 * - A thread that ends, ends its scopes. longjmp out of a scope leaves it open until an outer one
 *   ends.
 *
 * In a scope each call of its thread takes some 100 ns more. The scopes of a thread have memory of
 * their own: 4 KiB, and 32 to 64 bytes for each block that is live, 48 KiB at least. No function
 * throws. The functions of a scope are for the thread that began it. None may be called from a
 * signal handler that interrupted one of them or an allocation, nor from a function that
 * ashlar_on_fault installed.
 *
 * All of this is inline, but for two functions that are looked for when the program runs. So a
 * program that includes this header links and runs without any library of ashlar.
 */
#ifndef ASHLAR_ADAPT_TEST_SCOPE_H
#define ASHLAR_ADAPT_TEST_SCOPE_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <ashlar/adapt/loaded_name.h>
#include <ashlar/core/test_calls.h>

/* NOLINTBEGIN(modernize-use-nullptr): C has none */
#ifdef __cplusplus
#include <new>
extern "C" {
#endif

/* Whose calls a scope has to see; added where there are several. */
enum {
  ASHLAR_TEST_MALLOC = 1, /* malloc, free and their kin */
#ifdef __cplusplus
  ASHLAR_TEST_NEW = 2, /* operator new and delete */
#endif
  ASHLAR_TEST_LIBASHLAR = 4 /* xmalloc, ashlar::allocator and libashlar's other faces */
};

/* An open scope. What it has is for the functions below. */
struct ashlar_test_scope {
  unsigned number[2]; /* of libashlar's heap and of the drop-in library's; 0: not there */
};

/* Returns: null if a scope would see these `calls` now; else a sentence that says what it would not
 * see, and the remedy.
 * Complexity: a few microseconds. Thread-safe. */
static inline const char* ashlar_test_why_not(unsigned calls);

/* Effects: opens a scope in the calling thread, under these `rules` (null: nothing is forbidden).
 * Returns: 0; -1 with errno, and there is no scope.
 * Errors: ENOTSUP when it would not see one of these `calls` (ashlar_test_why_not), or inside a
 * report function; EAGAIN when the thread has 16 open scopes; ENOMEM.
 * Complexity: some microseconds. Thread-safe. */
static inline int ashlar_test_begin(struct ashlar_test_scope* scope, unsigned calls,
                                    const struct ashlar_test_rules* rules);

/* Effects: `figures` has what the scope has counted so far. The peak of a scope that counts both
 * libraries is the sum of both peaks.
 * Returns: 0; -1 with errno, and all figures are 0.
 * Errors: EINVAL when the scope is not open in the calling thread; EBUSY inside a report function.
 * Complexity: O(live blocks). */
static inline int ashlar_test_now(const struct ashlar_test_scope* scope,
                                  struct ashlar_test_figures* figures);

/* Effects: as ashlar_test_now (`figures` may be null); then the scope ends, and so do those that
 * were opened in it and are still open.
 * Returns, errors, complexity: as ashlar_test_now. */
static inline int ashlar_test_end(struct ashlar_test_scope* scope,
                                  struct ashlar_test_figures* figures);

/* ---- how the functions do it ---------------------------------------------------------------- */

/* Returns: the function of libashlar (0) or of the drop-in library (1) that leads to its calls;
 * null where that library is not in the process. */
typedef const struct ashlar_test_calls* ashlar_test_calls_function(void);
#if !defined(__APPLE__)
__attribute__((weak)) const struct ashlar_test_calls* ashlar_test_calls_of_libashlar(void);
__attribute__((weak)) const struct ashlar_test_calls* ashlar_test_calls_of_malloc(void);
#endif
static inline ashlar_test_calls_function* ashlar_test_library(int index) {
  ashlar_test_calls_function* found = NULL;
#if defined(__APPLE__)
  ashlar_find_loaded(index == 0 ? "ashlar_test_calls_of_libashlar" : "ashlar_test_calls_of_malloc",
                     &found, sizeof found);
#else
  found = index == 0 ? &ashlar_test_calls_of_libashlar : &ashlar_test_calls_of_malloc;
  if (index == 1 && found == NULL)
    ashlar_find_loaded("ashlar_test_calls_of_malloc", &found, sizeof found);
#endif
  return found;
}

/* Returns: the functions for libashlar's heap (0) or the drop-in library's (1); null where it is
 * not there, or can count nothing now. */
static inline const struct ashlar_test_calls* ashlar_test_heap(int index) {
  ashlar_test_calls_function* const found = ashlar_test_library(index);
  const struct ashlar_test_calls* const heap = found != NULL ? found() : NULL;
  if (heap == NULL || heap->version != ASHLAR_TEST_VERSION) return NULL;
  return heap->can_count() ? heap : NULL;
}

/* The calls that are tried. Volatile: a compiler leaves out a pair at which nobody looks. */
static inline void ashlar_test_call_malloc(void) {
  void* volatile block = malloc(1);
  free(block);
}
#ifdef __cplusplus
static inline void ashlar_test_call_new(void) {
  void* volatile block = ::operator new(1);
  ::operator delete(block);
}
#endif
static inline int ashlar_test_sees(void (*call)(void)) {
  int i = 0, seen = 0;
  for (i = 0; i < 2; ++i) {
    const struct ashlar_test_calls* const heap = ashlar_test_heap(i);
    seen |= heap != NULL && heap->sees(call) > 0;
  }
  return seen;
}

static inline const char* ashlar_test_why_not(unsigned calls) {
#define ASHLAR_TEST_NOT_OURS                                                             \
  " cannot be counted: it is not ashlar's in this process; preload libashlar-malloc.so " \
  "(LD_PRELOAD) or link ashlar-malloc.o, of this header's version and without a sanitizer"
  if ((calls & ASHLAR_TEST_MALLOC) != 0 && !ashlar_test_sees(ashlar_test_call_malloc))
    return "malloc" ASHLAR_TEST_NOT_OURS;
#ifdef __cplusplus
  if ((calls & ASHLAR_TEST_NEW) != 0 && !ashlar_test_sees(ashlar_test_call_new))
    return "operator new" ASHLAR_TEST_NOT_OURS;
#endif
#undef ASHLAR_TEST_NOT_OURS
  if ((calls & ASHLAR_TEST_LIBASHLAR) != 0 && ashlar_test_heap(0) == NULL)
    return "libashlar's calls cannot be counted: the program does not use its process heap, or a "
           "sanitizer's malloc has taken its place; link libashlar, of this header's version and "
           "without a sanitizer";
  return NULL;
}

static inline int ashlar_test_begin(struct ashlar_test_scope* scope, unsigned calls,
                                    const struct ashlar_test_rules* rules) {
  int i = 0;
  const int can_count = ashlar_test_why_not(calls) == NULL;
  scope->number[0] = scope->number[1] = 0;
  for (i = 0; can_count && i < 2; ++i) {
    const struct ashlar_test_calls* const heap = ashlar_test_heap(i);
    if (heap == NULL) continue;
    scope->number[i] = heap->begin(rules);
    if (scope->number[i] != 0) continue;
    if (scope->number[0] != 0) ashlar_test_heap(0)->end(scope->number[0], NULL);
    scope->number[0] = 0;
    return -1; /* begin has set errno */
  }
  if (scope->number[0] != 0 || scope->number[1] != 0) return 0;
  errno = ENOTSUP;
  return -1;
}

static inline void ashlar_test_add(struct ashlar_test_figures* sum,
                                   const struct ashlar_test_figures* f) {
  unsigned from = 0, to = 0;
  while (to < ASHLAR_TEST_FIRST_SIZES && to < sum->live_blocks) ++to;
  while (to < ASHLAR_TEST_FIRST_SIZES && from < f->live_blocks)
    sum->first_sizes[to++] = f->first_sizes[from++];
  sum->allocations += f->allocations;
  sum->reallocations += f->reallocations;
  sum->frees += f->frees;
  sum->other_frees += f->other_frees;
  sum->bytes_allocated += f->bytes_allocated;
  sum->live_blocks += f->live_blocks;
  sum->live_bytes += f->live_bytes;
  sum->peak_bytes += f->peak_bytes;
  sum->freed_elsewhere += f->freed_elsewhere;
  sum->not_followed += f->not_followed;
}
/* As ashlar_test_now, or as ashlar_test_end if it `ends`. */
static inline int ashlar_test_collect(const struct ashlar_test_scope* scope, int ends,
                                      struct ashlar_test_figures* figures) {
  int i = 0, result = 0;
  memset(figures, 0, sizeof *figures);
  if (scope->number[0] == 0 && scope->number[1] == 0) {
    errno = EINVAL;
    return -1;
  }
  for (i = 0; i < 2; ++i) {
    const struct ashlar_test_calls* const heap = scope->number[i] != 0 ? ashlar_test_heap(i) : NULL;
    struct ashlar_test_figures of_heap;
    if (scope->number[i] == 0) continue;
    if (heap == NULL) {
      errno = EBUSY;
      return -1;
    }
    result |= (ends ? heap->end : heap->figures)(scope->number[i], &of_heap);
    ashlar_test_add(figures, &of_heap);
  }
  return result;
}
static inline int ashlar_test_now(const struct ashlar_test_scope* scope,
                                  struct ashlar_test_figures* figures) {
  return ashlar_test_collect(scope, 0, figures);
}
static inline int ashlar_test_end(struct ashlar_test_scope* scope,
                                  struct ashlar_test_figures* figures) {
  struct ashlar_test_figures unused;
  const int result = ashlar_test_collect(scope, 1, figures != NULL ? figures : &unused);
  if (result == 0) scope->number[0] = scope->number[1] = 0;
  return result;
}

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-nullptr) */

#endif
