// misuse/faults.c: commits one fault over a component (faults.h), then goes on as a program does.
// Usage: PROGRAM COMPONENT FAULT SIZE. Without arguments it lists both.
//
// Each call and each faulty access goes through a pointer that the compiler knows nothing of, so no
// level of optimisation removes it. The program takes no memory for itself.
//
// Every live block has a pattern of its owner. The program verifies all patterns after the fault and
// between later allocations, so it sees by itself when bytes of another owner change or when an
// address gets two owners.
//
// What the program says, one line each, unbuffered, to the same place as standard error. Every line
// begins with "| ", so the runner (matrix.py) can tell it from an allocator's message:
//   next ADDRESS    the faulty call or access comes next
//   block ADDRESS   where the block begins that is left
//   back            the faulty call or access has returned
//   damage TEXT     bytes of a live block changed, or an address has two owners
//   visible TEXT    old contents were read, or the next address was as foretold
//   harmless TEXT   the fault had no effect: the request was refused, or there was nothing to see
//   inapplicable    the component has no such call
//   offsets LIST    where the blocks lie, for the comparison of two runs
//   ended           the program came to its end
#include "faults.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

const struct component* of;
size_t size;
struct fault* faults;
static void* (*volatile copy_of)(void*, const void*, size_t) = memcpy;

void say(const char* label, const char* text, const void* address) {
  char line[256];
  const int length = address == NULL ? snprintf(line, sizeof line, "| %s %s\n", label, text)
                                     : snprintf(line, sizeof line, "| %s %s0x%llx\n", label, text,
                                                (unsigned long long)(uintptr_t)address);
  if (write(STDOUT_FILENO, line, (size_t)length) != length) _exit(3);
}
void next(const void* address) { say("next", "", address); }
void back(void) { say("back", "", NULL); }
void broken(const char* why) {
  say("broken", why, NULL);
  _exit(3);
}
void inapplicable(void) {
  say("inapplicable", "", NULL);
  _exit(0);
}

// ---- what is live -------------------------------------------------------------------------------

static struct owner owners[owners_max];
static byte next_seed = 1;

// A large block has its pattern at both ends only. Neighbours write there.
static size_t marked(const struct owner* o) {
  return o->size > 2 * end_bytes ? 2 * end_bytes : o->size;
}
static byte* mark(const struct owner* o, size_t i) {
  return o->begin + (o->size > 2 * end_bytes && i >= end_bytes ? o->size - 2 * end_bytes + i : i);
}
static byte pattern(const struct owner* o, size_t i) { return (byte)(i * 7 + o->seed * 13u + 1); }

struct owner* owner_of(const void* p) {
  for (struct owner* o = owners; o != owners + owners_max; ++o)
    if (o->begin != NULL && o->begin == p) return o;
  return NULL;
}

// Makes p live. An address that is live already is damage. Its second owner writes it all the same, as
// a program would.
struct owner* own(void* p, size_t bytes) {
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
  static unsigned owned;
  *free_entry = (struct owner){p, bytes, next_seed++, false, false, ++owned};
  for (size_t i = 0; i < marked(free_entry); ++i) *mark(free_entry, i) = pattern(free_entry, i);
  return free_entry;
}

void disown(const void* p) {
  struct owner* const o = owner_of(p);
  if (o != NULL) o->begin = NULL;
}

// Says each damaged block once.
void verify(void) {
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

byte* blocks[blocks_before];
byte* lower;
byte* upper;

static size_t blocks_after(void) { return size > 65536 ? 16 : 64; }

byte* obtain(void) {
  byte* const p = of->allocate(size);
  if (p == NULL && !of->is_bounded) broken("there is no memory");
  if (p != NULL) own(p, size);
  return p;
}
void give_back(void* p) {
  disown(p);
  of->release(p);
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

byte* last(void) { return blocks[blocks_before - 1]; }

static void settle(void) {
  verify();
  if (of->settle != NULL && !of->settle()) say("damage", "the component is not sound", NULL);
}
static struct owner* next_to_free(void) {
  struct owner* found = NULL;
  for (struct owner* o = owners; o != owners + owners_max; ++o)
    if (o->begin != NULL && !o->keeps && (found == NULL || o->number > found->number)) {
      found = o;
      if (!of->newest_first) break;
    }
  return found;
}
static void go_on(void) {
  verify();
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < blocks_after() && obtain() != NULL; ++i)
      if (i % 8 == 7) verify();
    for (struct owner* o; (o = next_to_free()) != NULL;) give_back(o->begin);
    settle();
  }
  say("ended", "", NULL);
}
void end_now(void) {
  settle();
  say("ended", "", NULL);
  exit(0);
}

// ---- double free --------------------------------------------------------------------------------

void faulty_free(void* p) {
  next(p);
  of->release(p);
  back();
}

static bool reuse(const byte* p) {
  for (size_t i = 0; i < blocks_after() && owner_of(p) == NULL && obtain() != NULL; ++i) {
  }
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

// ---- free of what is no block ------------------------------------------------------------------

static void free_address(void* p) {
  if (of->has_no_addresses) inapplicable();
  faulty_free(p);
}
FAULT_IS(free_interior_8, free_address(last() + 8))
FAULT_IS(free_interior_16, free_address(last() + 16))
FAULT_IS(free_interior_half, free_address(last() + size / 2))
static _Alignas(64) byte of_nobody[4096];
FAULT(free_stack) {
  _Alignas(64) byte on_stack[256];
  struct owner* const o = own(on_stack + 64, 128);
  o->keeps = true;
  free_address(on_stack + 64);
  go_on();
  o->begin = NULL;  // before the bytes end
}
FAULT(free_global) {
  own(of_nobody + 64, 1024)->keeps = true;
  free_address(of_nobody + 64);
}
FAULT(free_mapping) {
  byte* const pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) broken("mmap failed");
  own(pages + 4096 + 256, 4096)->keeps = true;
  free_address(pages + 4096 + 256);
}
// One page behind the highest block: inside of it, or where no block has been handed out yet.
FAULT(free_page_off) {
  byte* highest = blocks[0];
  for (int i = 1; i < blocks_before; ++i)
    if (blocks[i] > highest) highest = blocks[i];
  free_address(highest + 4096);
}

// ---- writes beyond a block ----------------------------------------------------------------------

static byte junk[4096];

// Changes every byte of the stretch, whatever it was.
void store(byte* first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    volatile byte* const b = first + i;
    *b = (byte) ~*b;
  }
}
static void copy_over(byte* first, size_t count) {
  for (size_t i = 0; i < count; ++i) junk[i] = (byte)(0xc3 + i * 5);
  copy_of(first, junk, count);
}
static void overflow(size_t count, void (*change)(byte*, size_t), bool is_freed) {
  owner_of(lower)->keeps = !is_freed;
  say("block", "", lower);
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
  say("block", "", upper);
  next(upper - count);
  store(upper - count, count);
  back();
}
FAULT_IS(underflow_1, underflow(1))
FAULT_IS(underflow_16, underflow(16))

// ---- use after free -----------------------------------------------------------------------------

enum { looked_at_max = 128 };
size_t looked_at(void) { return size < looked_at_max ? size : looked_at_max; }

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
  if (of->reallocate == NULL) inapplicable();
  give_back(last());
  next(last());
  byte* const p = of->reallocate(last(), 4 * size);
  back();
  if (p != NULL) own(p, 4 * size);
}

// The last thing that the program does: nobody gets the block again.
FAULT(write_freed_at_the_end) {
  give_back(last());
  next(last());
  store(last(), looked_at());
  back();
  end_now();
}
FAULT(write_freed_middle) {
  give_back(last());
  next(last() + size / 2);
  store(last() + size / 2, 8);
  back();
}
// ---- what an attacker learns --------------------------------------------------------------------

FAULT(uninitialised_read) {
  bool is_visible = false;
  for (int i = 0; i < blocks_before; ++i) write_secret(blocks[i]);
  for (int i = 0; i < blocks_before; ++i) give_back(blocks[i]);
  next(last());
  for (int i = 0; i < blocks_before; ++i) {
    byte* const p = of->allocate(size);
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
      is_same ? "it is what was freed last" : "it is another block", NULL);
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

// No fault: the runner expects silence, so what it hears elsewhere comes of the fault.
FAULT(none) {
  next(last());
  give_back(last());
  back();
}

int main(int count, char** arguments) {
  if (count == 4) {
    const struct component* c = components;
    while (c->name != NULL && strcmp(c->name, arguments[1]) != 0) ++c;
    const struct fault* f = faults;
    while (f != NULL && strcmp(f->name, arguments[2]) != 0) f = f->next;
    size = strtoul(arguments[3], NULL, 10);
    if (c->name != NULL && f != NULL && size != 0) {
      of = c;
      begin();
      f->commit();
      if (f->commit != free_stack) go_on();
      return 0;
    }
  }
  for (const struct component* c = components; c->name != NULL; ++c)
    printf("component %s\n", c->name);
  for (const struct fault* f = faults; f != NULL; f = f->next) printf("fault %s\n", f->name);
  return 2;
}
