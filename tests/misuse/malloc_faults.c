// misuse/malloc_faults.c: commits one fault through malloc, then goes on as a program does.
// Usage: malloc_faults FAULT SIZE. Without arguments it lists the faults.
//
// The program links no allocator: the runner (matrix.py) preloads one. It is built at -O0 and
// at -O2. Each call and each faulty access goes through a volatile, so no level removes it.
//
// Every live block has a pattern of its owner. The program verifies all patterns after the fault and
// between later allocations, so it sees by itself when bytes of another owner change or when an
// address gets two owners. It takes no memory from the heap for that.
//
// What the program says, one line each, unbuffered, to the same place as standard error. Every line
// begins with "| ", so the runner can tell it from an allocator's message:
//   next ADDRESS    the faulty call or access comes next
//   back            the faulty call or access has returned
//   damage TEXT     bytes of a live block changed, or an address has two owners
//   visible TEXT    old contents were read, or the next address was as foretold
//   harmless TEXT   the fault had no effect: the request was refused, or there was nothing to see
//   offsets LIST    where the blocks lie, for the comparison of two runs
//   ended           the program came to its end
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned char byte;

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
static void* (*volatile memcpy_of)(void*, const void*, size_t) = memcpy;

static size_t size;  // bytes of each block

static void say(const char* label, const char* text, const void* address) {
  char line[256];
  const int length = address == NULL ? snprintf(line, sizeof line, "| %s %s\n", label, text)
                                     : snprintf(line, sizeof line, "| %s %s0x%llx\n", label, text,
                                                (unsigned long long)(uintptr_t)address);
  if (write(STDOUT_FILENO, line, (size_t)length) != length) _exit(3);
}
static void next(const void* address) {
  say("next", "", address);
}
static void back(void) {
  say("back", "", NULL);
}
static void broken(const char* why) {
  say("broken", why, NULL);
  _exit(3);
}

// ---- what is live -------------------------------------------------------------------------------

enum { owners_max = 256, end_bytes = 128 };
static struct owner {
  byte* begin;  // null: no owner
  size_t size;
  byte seed;
  bool keeps;       // the owner never frees the block
  bool is_damaged;  // and that was said
} owners[owners_max];
static byte next_seed = 1;

// A large block has its pattern at both ends only. Neighbours write there.
static size_t marked(const struct owner* o) {
  return o->size > 2 * end_bytes ? 2 * end_bytes : o->size;
}
static byte* mark(const struct owner* o, size_t i) {
  return o->begin + (o->size > 2 * end_bytes && i >= end_bytes ? o->size - 2 * end_bytes + i : i);
}
static byte pattern(const struct owner* o, size_t i) {
  return (byte)(i * 7 + o->seed * 13u + 1);
}

static struct owner* owner_of(const void* p) {
  for (struct owner* o = owners; o != owners + owners_max; ++o)
    if (o->begin != NULL && o->begin == p) return o;
  return NULL;
}

// Makes p live. An address that is live already is damage. Its second owner writes it all the same, as
// a program would.
static struct owner* own(void* p, size_t bytes) {
  struct owner* free_entry = NULL;
  for (struct owner* o = owners; o != owners + owners_max; ++o) {
    if (o->begin == NULL) {
      free_entry = o;
    } else if ((uintptr_t)p < (uintptr_t)o->begin + o->size &&
               (uintptr_t)o->begin < (uintptr_t)p + bytes) {
      say("damage", "two owners of the bytes at ", p);
    }
  }
  if (free_entry == NULL) broken("too many owners");
  *free_entry = (struct owner){p, bytes, next_seed++, false, false};
  for (size_t i = 0; i < marked(free_entry); ++i) *mark(free_entry, i) = pattern(free_entry, i);
  return free_entry;
}

static void disown(const void* p) {
  struct owner* const o = owner_of(p);
  if (o != NULL) o->begin = NULL;
}

// Says each damaged block once.
static void verify(void) {
  for (struct owner* o = owners; o != owners + owners_max; ++o) {
    if (o->begin == NULL || o->is_damaged) continue;
    for (size_t i = 0; i < marked(o); ++i) {
      if (*(volatile byte*)mark(o, i) == pattern(o, i)) continue;
      say("damage", "another owner's bytes changed at ", mark(o, i));
      o->is_damaged = true;
      break;
    }
  }
}

// ---- the program around the fault ---------------------------------------------------------------

enum { blocks_before = 16 };
static byte* blocks[blocks_before];  // in the order in which they were allocated
static byte* lower;                  // the two that are closest to each other
static byte* upper;

static size_t blocks_after(void) {
  return size > 65536 ? 16 : 64;
}

static byte* obtain(void) {
  byte* const p = malloc_of(size);
  if (p == NULL) broken("malloc has no memory");
  own(p, size);
  return p;
}
static void give_back(void* p) {
  disown(p);
  free_of(p);
}

// What overruns `lower` most likely hits `upper`, in whatever order the blocks were handed out.
static void begin(void) {
  byte* sorted[blocks_before];
  for (int i = 0; i < blocks_before; ++i) sorted[i] = blocks[i] = obtain();
  for (int i = 1; i < blocks_before; ++i)
    for (int j = i; j > 0 && sorted[j - 1] > sorted[j]; --j) {
      byte* const other = sorted[j];
      sorted[j] = sorted[j - 1];
      sorted[j - 1] = other;
    }
  int best = blocks_before / 2;
  for (int i = 2; i + 2 < blocks_before; ++i)
    if (sorted[i + 1] - sorted[i] < sorted[best + 1] - sorted[best]) best = i;
  lower = sorted[best];
  upper = sorted[best + 1];
}

static byte* last(void) {
  return blocks[blocks_before - 1];
}

static void go_on(void) {
  verify();
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < blocks_after(); ++i) {
      obtain();
      if (i % 8 == 7) verify();
    }
    for (struct owner* o = owners; o != owners + owners_max; ++o)
      if (o->begin != NULL && !o->keeps) give_back(o->begin);
    verify();
  }
  say("ended", "", NULL);
}

// Each fault is in the list as soon as the program starts, the last one first.
static struct fault {
  const char* name;
  void (*commit)(void);
  struct fault* next;
}* faults;
#define FAULT(name)                                            \
  static void name(void);                                      \
  __attribute__((constructor)) static void list_##name(void) { \
    static struct fault one = {#name, name, NULL};             \
    one.next = faults;                                         \
    faults = &one;                                             \
  }                                                            \
  static void name(void)
#define FAULT_IS(name, ...) \
  FAULT(name) {             \
    __VA_ARGS__;            \
  }

// ---- double free --------------------------------------------------------------------------------

static void faulty_free(void* p) {
  next(p);
  free_of(p);
  back();
}

static bool reuse(const byte* p) {
  for (size_t i = 0; i < blocks_after() && owner_of(p) == NULL; ++i) obtain();
  return owner_of(p) != NULL;
}

FAULT(double_free) {
  give_back(last());
  faulty_free(last());
}
FAULT(double_free_after_free) {
  give_back(last());
  give_back(blocks[1]);
  faulty_free(last());
}
FAULT(double_free_after_calls) {
  for (int i = 0; i < 6; ++i) give_back(blocks[blocks_before - 1 - i]);
  for (int i = 0; i < 3; ++i) obtain();
  for (int i = 0; i < 6; ++i) {
    if (owner_of(blocks[blocks_before - 1 - i]) != NULL) continue;
    faulty_free(blocks[blocks_before - 1 - i]);
    return;
  }
  broken("every freed block is in use again");
}
// Where the block does not come back, this is a double free after many allocations.
FAULT(double_free_after_reuse) {
  give_back(last());
  reuse(last());
  faulty_free(last());  // its new owner knows nothing of it
}

// ---- free of what malloc did not return ---------------------------------------------------------

FAULT_IS(free_interior_8, faulty_free(last() + 8))
FAULT_IS(free_interior_16, faulty_free(last() + 16))
FAULT_IS(free_interior_half, faulty_free(last() + size / 2))
static _Alignas(64) byte of_nobody[4096];
FAULT(free_stack) {
  _Alignas(64) byte on_stack[256];
  struct owner* const o = own(on_stack + 64, 128);
  o->keeps = true;
  faulty_free(on_stack + 64);
  go_on();
  o->begin = NULL;  // before the bytes end
}
FAULT(free_global) {
  own(of_nobody + 64, 1024)->keeps = true;
  faulty_free(of_nobody + 64);
}
FAULT(free_mapping) {
  byte* const pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) broken("mmap failed");
  own(pages + 4096 + 256, 4096)->keeps = true;
  faulty_free(pages + 4096 + 256);
}
// One page behind the highest block: inside of it, or where no block has been handed out yet.
FAULT(free_page_off) {
  byte* highest = blocks[0];
  for (int i = 1; i < blocks_before; ++i)
    if (blocks[i] > highest) highest = blocks[i];
  faulty_free(highest + 4096);
}

// ---- writes beyond a block ----------------------------------------------------------------------

static byte junk[4096];

// Changes every byte of the stretch, whatever it was.
static void store(byte* first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    volatile byte* const b = first + i;
    *b = (byte) ~*b;
  }
}
static void copy_over(byte* first, size_t count) {
  for (size_t i = 0; i < count; ++i) junk[i] = (byte)(0xc3 + i * 5);
  memcpy_of(first, junk, count);
}
static void overflow(size_t count, void (*change)(byte*, size_t), bool is_freed) {
  owner_of(lower)->keeps = !is_freed;
  next(lower + size);
  change(lower + size, count);
  back();
}
FAULT_IS(overflow_1_store, overflow(1, store, true))
FAULT_IS(overflow_8_store, overflow(8, store, true))
FAULT_IS(overflow_16_store, overflow(16, store, true))
FAULT_IS(overflow_4096_store, overflow(4096, store, true))
FAULT_IS(overflow_1_memcpy, overflow(1, copy_over, true))
FAULT_IS(overflow_8_memcpy, overflow(8, copy_over, true))
FAULT_IS(overflow_16_memcpy, overflow(16, copy_over, true))
FAULT_IS(overflow_32_memcpy, overflow(32, copy_over, true))
FAULT_IS(overflow_4096_memcpy, overflow(4096, copy_over, true))
FAULT_IS(overflow_1_store_kept, overflow(1, store, false))
FAULT_IS(overflow_8_store_kept, overflow(8, store, false))
FAULT_IS(overflow_16_store_kept, overflow(16, store, false))
FAULT_IS(overflow_4096_store_kept, overflow(4096, store, false))
FAULT_IS(overflow_1_memcpy_kept, overflow(1, copy_over, false))
FAULT_IS(overflow_8_memcpy_kept, overflow(8, copy_over, false))
FAULT_IS(overflow_16_memcpy_kept, overflow(16, copy_over, false))
FAULT_IS(overflow_32_memcpy_kept, overflow(32, copy_over, false))
FAULT_IS(overflow_4096_memcpy_kept, overflow(4096, copy_over, false))
// What is read is of no interest here: it may be of another owner, or of nobody.
static void look_beyond(size_t count) {
  next(lower + size);
  for (size_t i = 0; i < count; ++i) (void)*(const volatile byte*)(lower + size + i);
  back();
}
FAULT_IS(overread_1, look_beyond(1))
FAULT_IS(overread_32, look_beyond(32))
FAULT_IS(overread_4096, look_beyond(4096))
static void underflow(size_t count) {
  next(upper - count);
  store(upper - count, count);
  back();
}
FAULT_IS(underflow_1, underflow(1))
FAULT_IS(underflow_16, underflow(16))

// ---- use after free -----------------------------------------------------------------------------

enum { looked_at_max = 128 };
static size_t looked_at(void) {
  return size < looked_at_max ? size : looked_at_max;
}

// The secret depends on the address alone, so it is known again in whatever block it turns up.
static byte secret(const byte* at) {
  return (byte)(((uintptr_t)at >> 4) * 37 + (uintptr_t)at * 101 + 7);
}
static void write_secret(byte* p) {
  for (size_t i = 0; i < looked_at(); ++i) p[i] = secret(p + i);
}
// At least half of it: some allocators put data of their own into a free block.
static bool has_secret(const byte* p) {
  size_t same = 0;
  for (size_t i = 0; i < looked_at(); ++i)
    same += *(const volatile byte*)(p + i) == secret(p + i) ? 1u : 0u;
  return 2 * same >= looked_at();
}
static void say_seen(bool is_visible) {
  say(is_visible ? "visible" : "harmless",
      is_visible ? "contents of another owner" : "the old contents are gone", NULL);
}

FAULT(read_freed) {
  write_secret(last());
  give_back(last());
  next(last());
  const bool is_visible = has_secret(last());
  back();
  say_seen(is_visible);
}
FAULT(read_reused) {
  byte* const p = last();
  write_secret(p);
  give_back(p);
  if (reuse(p)) {
    write_secret(p);
    owner_of(p)->is_damaged = true;  // the new owner's bytes are the secret now, and no pattern
  }
  next(p);
  const bool is_visible = has_secret(p);
  back();
  say_seen(is_visible);
}
FAULT(write_freed) {
  give_back(blocks[1]);
  give_back(last());
  next(last());
  store(last(), looked_at());
  back();
}
FAULT(write_reused) {
  give_back(last());
  reuse(last());
  next(last());
  store(last(), looked_at());
  back();
}
// A free block's first words name other memory, as the link of a free list would.
FAULT(forged_link) {
  void* const target = of_nobody + 1024 + (uintptr_t)last() % 16;
  own(target, 64)->keeps = true;
  give_back(blocks[1]);
  give_back(last());
  next(last());
  *(void* volatile*)last() = target;
  back();
}
FAULT(realloc_freed) {
  give_back(last());
  next(last());
  byte* const p = realloc_of(last(), 4 * size);
  back();
  if (p != NULL) own(p, 4 * size);
}

// The last thing that the program does: nobody gets the block again.
FAULT(write_freed_at_the_end) {
  give_back(last());
  next(last());
  store(last(), looked_at());
  back();
  verify();
  say("ended", "", NULL);
  exit(0);
}
FAULT(write_freed_middle) {
  give_back(last());
  next(last() + size / 2);
  store(last() + size / 2, 8);
  back();
}
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

// ---- what an attacker learns --------------------------------------------------------------------

FAULT(uninitialised_read) {
  bool is_visible = false;
  for (int i = 0; i < blocks_before; ++i) write_secret(blocks[i]);
  for (int i = 0; i < blocks_before; ++i) give_back(blocks[i]);
  next(last());
  for (int i = 0; i < blocks_before; ++i) {
    byte* const p = malloc_of(size);
    is_visible = has_secret(p) || is_visible;
    own(p, size);
  }
  back();
  say_seen(is_visible);
}
FAULT(next_address) {
  give_back(last());
  next(last());
  const bool is_same = obtain() == last();
  back();
  say(is_same ? "visible" : "harmless",
      is_same ? "malloc returns what was freed last" : "malloc returns another block", NULL);
}
FAULT(same_offsets) {
  char text[blocks_before * 20];
  int length = 0;
  next(last());
  for (int i = 1; i < blocks_before; ++i)
    length += snprintf(text + length, sizeof text - (size_t)length, "%td ", blocks[i] - blocks[0]);
  back();
  say("offsets", text, NULL);
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

// No fault: the runner expects silence, so what it hears elsewhere comes of the fault.
FAULT(none) {
  next(last());
  give_back(last());
  back();
}

int main(int count, char** arguments) {
  if (count == 3) {
    size = strtoul(arguments[2], NULL, 10);
    const struct fault* f = size != 0 ? faults : NULL;
    while (f != NULL && strcmp(f->name, arguments[1]) != 0) f = f->next;
    if (f != NULL) {
      begin();
      f->commit();
      if (f->commit != free_stack) go_on();
      return 0;
    }
  }
  for (const struct fault* f = faults; f != NULL; f = f->next) puts(f->name);
  return 2;
}
