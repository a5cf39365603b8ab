/* core/fault_info.h: what a program's own function is told of a fault (C99 and C++).
 * Layer: core. ashlar_on_fault in adapt/c_api.h gives it to the program. */
#ifndef ASHLAR_CORE_FAULT_INFO_H
#define ASHLAR_CORE_FAULT_INFO_H

#include <stddef.h>

/* One fault. Strings last as long as the process, but for `pool`, which lasts as long as the call;
 * null or 0 means unknown. */
struct ashlar_fault_info {
  const char* kind;    /* for programs: "double_free", "overflow", ... (docs/checks.md has all) */
  const char* message; /* for people: the sentence of the line on standard error */
  const char* call;    /* the call that was misused, such as "free" */
  const void* address; /* what it was given, or where a byte was changed */
  size_t block_size;   /* bytes: of the address's class or pool; with full checks as asked for */
  const char* pool;    /* name of the pool or heap instance, where it has one */
  const void* block;   /* where the block begins that the address belongs to; with full checks */
  int goes_on;         /* 1: the process goes on when the function returns; 0: it aborts then */
};

#endif
