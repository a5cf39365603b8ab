/* core/test_calls.h: what a test scope counts, and how a library offers test scopes (C99 and C++).
 * Layer: core. Programs include adapt/test_scope.h, which has the functions.
 */
#ifndef ASHLAR_CORE_TEST_CALLS_H
#define ASHLAR_CORE_TEST_CALLS_H

#include <stddef.h>
#include <stdint.h>

enum { ASHLAR_TEST_FIRST_SIZES = 8 };

/* What a thread has done in a test scope so far. A block is followed from its allocation in the
 * scope on. Sizes are those that were asked for, not those of the heap's classes.
 * Law: live_blocks == allocations - (frees - other_frees) - freed_elsewhere - not_followed. */
struct ashlar_test_figures {
  uint64_t allocations;     /* calls that gave this thread a block; a realloc of a block is one */
  uint64_t reallocations;   /* of these: reallocs of a block, whether it moved or stayed */
  uint64_t frees;           /* blocks that this thread gave back; a realloc of a block is one */
  uint64_t other_frees;     /* of these: blocks from before the scope or of another thread */
  uint64_t bytes_allocated; /* sum of the sizes of all allocations */
  uint64_t live_blocks;     /* followed blocks that are still in use */
  uint64_t live_bytes;      /* sum of their sizes */
  uint64_t peak_bytes;      /* the most that live_bytes ever was */
  uint64_t freed_elsewhere; /* followed blocks that another thread was found to have given back */
  uint64_t not_followed;    /* allocations that are counted only: no memory to follow the block */
  uint64_t first_sizes[ASHLAR_TEST_FIRST_SIZES]; /* of live blocks, those allocated first */
};

/* What a scope forbids. */
enum {
  ASHLAR_TEST_ALLOCATIONS = 1, /* malloc, calloc, realloc, operator new and their kin */
  ASHLAR_TEST_FREES = 2        /* free of a block, realloc of one, operator delete and their kin */
};

/* A forbidden call. All of it lasts until the report function returns. */
struct ashlar_test_call {
  const char* call;  /* its name, such as "malloc" or "operator new" */
  size_t size;       /* bytes that it asks for; 0 for a free */
  const void* block; /* the block that it gives back or resizes; else null */
  const char* text;  /* the message: a line, and one for each known frame of the call's stack */
};

/* What a scope forbids, and who is told. */
struct ashlar_test_rules {
  unsigned forbidden; /* 0, or ASHLAR_TEST_ALLOCATIONS and ASHLAR_TEST_FREES, added */
  /* Called in the thread of the scope at the first forbidden call, before it is served. It may
   * allocate and free, which is not counted. It must return, and may neither begin nor end a scope.
   * Null: the message goes to standard error, and the process aborts. */
  void (*report)(const struct ashlar_test_call* what, void* context);
  void* context;
};

/* Rises when a struct of this file changes. */
enum { ASHLAR_TEST_VERSION = 1 };

/* The functions of one library, for its own heap. A scope is known by its number in its thread, 1
 * or more. */
struct ashlar_test_calls {
  unsigned version; /* ASHLAR_TEST_VERSION; a program that knows another uses nothing of this */
  /* Returns the number; 0 with errno, and it did not begin. */
  unsigned (*begin)(const struct ashlar_test_rules* rules);
  int (*figures)(unsigned scope, struct ashlar_test_figures* out);
  int (*end)(unsigned scope, struct ashlar_test_figures* out);
  /* Returns 1 where this heap can count the calling thread's calls; else 0 with errno. */
  int (*can_count)(void);
  /* Calls `call`, which no scope sees. Returns how many allocations this heap served meanwhile.
   * Requires: it can count. */
  int (*sees)(void (*call)(void));
};

#endif
