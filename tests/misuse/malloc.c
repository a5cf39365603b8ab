// misuse/malloc.c: malloc as a component, and the faults that only malloc's family and the operators can
// commit. The program links no allocator: the runner (matrix.py) preloads one. It is built at -O0 and
// at -O2.
#include <malloc.h>

#include "faults.h"

const struct component components[] = {
    {.name = "malloc", .allocate = malloc, .release = free, .reallocate = realloc}, {.name = NULL}};

// C++'s operators, by their names for the linker.
void* new_one(size_t size) __asm__("_Znwm");
void* new_array(size_t size) __asm__("_Znam");
void delete_one(void* p) __asm__("_ZdlPv");
void delete_sized(void* p, size_t size) __asm__("_ZdlPvm");

// The compiler must read these pointers, so it knows nothing of what is called.
static void* (*volatile malloc_of)(size_t) = malloc;
static void* (*volatile calloc_of)(size_t, size_t) = calloc;
static void* (*volatile realloc_of)(void*, size_t) = realloc;
static void* (*volatile reallocarray_of)(void*, size_t, size_t) = reallocarray;
static void* (*volatile aligned_alloc_of)(size_t, size_t) = aligned_alloc;
static void (*volatile free_of)(void*) = free;

// ---- after a realloc ----------------------------------------------------------------------------

// A pointer to where the block was before realloc moved it.
FAULT(write_moved) {
  byte* const p = last();
  disown(p);
  byte* const moved = realloc_of(p, 4 * size);
  if (moved == NULL) broken("realloc has no memory");
  own(moved, 4 * size);
  next(p);
  if (moved == p)
    say("harmless", "the block has not moved", NULL);
  else
    store(p, looked_at());
  back();
}
// A pointer to the part that realloc took away.
FAULT(write_shrunk) {
  byte* const p = last();
  disown(p);
  byte* const now = realloc_of(p, size / 4);
  if (now == NULL) broken("realloc has no memory");
  own(now, size / 4);
  next(now + size / 2);
  store(now + size / 2, 8);
  back();
}

// ---- blocks of no bytes -------------------------------------------------------------------------

static void store_in_nothing(byte* p) {
  next(p);
  if (p == NULL)
    say("harmless", "there is no block", NULL);
  else
    store(p, 1);
  back();
  free_of(p);
}
FAULT_IS(zero_malloc, store_in_nothing(malloc_of(0)))
FAULT_IS(zero_calloc, store_in_nothing(calloc_of(0, size)))
FAULT_IS(zero_calloc_of_nothing, store_in_nothing(calloc_of(size, 0)))
FAULT_IS(zero_realloc, store_in_nothing(realloc_of(NULL, 0)))
FAULT_IS(zero_aligned, store_in_nothing(aligned_alloc_of(64, 0)))
FAULT(zero_new) {
  byte* const p = new_one(0);
  next(p);
  store(p, 1);
  back();
  delete_one(p);
}
FAULT(zero_new_array) {
  byte* const p = new_array(0);
  next(p);
  store(p, 1);
  back();
}
FAULT(zero_read) {
  byte* const p = malloc_of(0);
  next(p);
  if (p == NULL)
    say("harmless", "there is no block", NULL);
  else
    (void)*(const volatile byte*)p;
  back();
  free_of(p);
}
FAULT(zero_double_free) {
  byte* const p = malloc_of(0);
  free_of(p);
  next(p);
  if (p == NULL)
    say("harmless", "there is no block", NULL);
  else
    free_of(p);
  back();
}

// ---- the wrong size, the wrong family -----------------------------------------------------------

FAULT(sized_delete) {
  byte* const p = new_one(size);
  next(p);
  delete_sized(p, 2 * size);
  back();
  // An allocator that believed the size may serve such a request with the block.
  for (int i = 0; i < 8; ++i) own(malloc_of(2 * size), 2 * size);
}
FAULT_IS(new_free, faulty_free(new_one(size)))
FAULT(new_array_delete) {
  byte* const p = new_array(size);
  next(p);
  delete_one(p);
  back();
}
FAULT(malloc_delete) {
  disown(last());
  next(last());
  delete_one(last());
  back();
}

// ---- sizes that no memory has -------------------------------------------------------------------

static void expect_refused(void* p) {
  if (p != NULL) say("damage", "a block smaller than asked for at ", p);
}
FAULT(calloc_overflow) {
  next(last());
  void* const p = calloc_of(SIZE_MAX / size + 2, size);
  void* const q = reallocarray_of(last(), SIZE_MAX / size + 2, size);
  back();
  expect_refused(p);
  expect_refused(q);
  if (p == NULL && q == NULL) say("harmless", "refused", NULL);
}
FAULT(size_overflow) {
  next(last());
  void* const p = malloc_of(SIZE_MAX - size);
  void* const q = realloc_of(last(), SIZE_MAX - 16);
  void* const r = aligned_alloc_of(4096, SIZE_MAX - 4095);
  back();
  expect_refused(p);
  expect_refused(q);
  expect_refused(r);
  if (p == NULL && q == NULL && r == NULL) say("harmless", "refused", NULL);
}
