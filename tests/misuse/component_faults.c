// misuse/component_faults.c: the faults that only a component of ashlar's can commit, or tell.
#include <string.h>

#include "faults.h"

FAULT(underread_1) {
  next(upper - 1);
  (void)*(const volatile byte*)(upper - 1);
  back();
}
FAULT(free_foreign) {
  if (of->take_from_another == NULL) inapplicable();
  byte* const p = of->take_from_another(size);
  own(p, size)->keeps = true;
  faulty_free(p);
}

// Whether the component hands out `p` again, sooner or later.
static bool comes_back(const byte* p) {
  static byte* got[4096];
  size_t count = 0;
  bool found = false;
  while (!found && count < sizeof got / sizeof *got && (got[count] = of->allocate(size)) != NULL)
    found = got[count++] == p;
  while (count != 0) of->release(got[--count]);
  return found;
}
FAULT(wrong_size) {
  if (of->release_sized == NULL) inapplicable();
  byte* const p = last();
  next(p);
  disown(p);
  of->release_sized(p, 2 * size);
  back();
  // Who believed that the block is twice as large may serve such a request with it.
  for (int i = 0; i < 8; ++i) {
    void* const q = of->allocate(2 * size);
    if (q != NULL) own(q, 2 * size);
  }
  verify();
  if (comes_back(p)) say("harmless", "the block was freed as what it is", NULL);
}

FAULT(leak) {
  next(last());
  back();
  end_now();
}
FAULT(leak_reported) {
  if (of->leave_blocks == NULL) inapplicable();
  say("next", "blocks are left", NULL);
  of->leave_blocks();
  back();
}

// Writes `target` wherever a free block may keep a link.
static void forge(void* target) {
  give_back(blocks[blocks_before - 2]);
  give_back(last());
  next(last());
  for (size_t i = 0; i + sizeof target <= size; i += sizeof target)
    *(void* volatile*)(last() + i) = target;
  back();
}
static _Alignas(64) byte of_nobody[bytes_behind_max];
FAULT(forge_foreign) {
  byte* const bytes = of->bytes_behind != NULL ? of->bytes_behind() : of_nobody;
  // The attacker knows the distances of blocks: what no check of a remainder finds.
  byte* const target = bytes + ((uintptr_t)blocks[0] - (uintptr_t)bytes) % size;
  own(target, size)->keeps = true;
  forge(target);
}
FAULT_IS(forge_live, forge(blocks[blocks_before / 2]))
