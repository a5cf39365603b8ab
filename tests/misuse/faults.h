// misuse/faults.h: a component as the faults see it, and the program around a fault (faults.c).
// Functions, not virtual ones: what a component does not have is a null pointer, and its cell in the
// matrix is then "n/a".
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned char byte;
enum { bytes_behind_max = 256 };

struct component {
  const char* name;
  // Returns: a block of `size` bytes, or null. A pool of one size has null for every other size.
  void* (*allocate)(size_t size);
  void (*release)(void* block);
  // Effects: what is checked late is checked now, as far as it can be asked for. Returns: whether the
  // component says that it is sound.
  bool (*settle)(void);

  bool has_no_addresses;  // a caller has none to pass: a container's memory
  bool is_bounded;        // it may have no block left
  bool newest_first;      // only the newest block may be released
  void (*release_sized)(void* block, size_t size);
  void* (*reallocate)(void* block, size_t size);
  // Returns: a live block of this size that another component of the kind gave.
  void* (*take_from_another)(size_t size);
  // Effects: some blocks are left in a component that was asked to say so at its end.
  void (*leave_blocks)(void);
  // Bytes behind the component's own memory, bytes_behind_max of them: where a forged link does most
  // harm. Null: any bytes will do.
  byte* (*bytes_behind)(void);
};
// The program's own, the last one without a name.
extern const struct component components[];

#ifdef __cplusplus
}
#else

extern const struct component* of;  // on which the fault is committed
extern size_t size;                 // bytes of each block

void say(const char* label, const char* text, const void* address);
void next(const void* address);
void back(void);
_Noreturn void broken(const char* why);
_Noreturn void inapplicable(void);

// ---- what is live ----
enum { owners_max = 256, end_bytes = 128 };
struct owner {
  byte* begin;  // null: no owner
  size_t size;
  byte seed;
  bool keeps;       // the owner never frees the block
  bool is_damaged;  // and that was said
  unsigned number;  // of all that were made live
};
struct owner* own(void* p, size_t bytes);
struct owner* owner_of(const void* p);
void disown(const void* p);
void verify(void);

// ---- the program around the fault ----
enum { blocks_before = 16 };
extern byte* blocks[blocks_before];  // in the order in which they were allocated
extern byte* lower;                  // the two that are closest to each other
extern byte* upper;
byte* last(void);
byte* obtain(void);
void give_back(void* p);
void faulty_free(void* p);
void store(byte* first, size_t count);
size_t looked_at(void);
_Noreturn void end_now(void);

// Each fault is in the list as soon as the program starts.
struct fault {
  const char* name;
  void (*commit)(void);
  struct fault* next;
};
extern struct fault* faults;
#define FAULT(name)                                            \
  static void name(void);                                      \
  __attribute__((constructor)) static void list_##name(void) { \
    static struct fault one = {#name, name, NULL};             \
    one.next = faults;                                         \
    faults = &one;                                             \
  }                                                            \
  static void name(void)
#define FAULT_IS(name, ...) \
  FAULT(name) { __VA_ARGS__; }

#endif
