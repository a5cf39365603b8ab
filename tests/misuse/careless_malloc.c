// misuse/careless_malloc.c: an allocator that checks nothing, for matrix_bites.py to preload.
// It never reuses a block, it believes every size, and its calloc multiplies without a look at the overflow.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static _Alignas(16) unsigned char memory[64 << 20];
static size_t used;

void* malloc(size_t size) {
  void* const p = memory + used;
  used += (size + 15) / 16 * 16;
  return used <= sizeof memory ? p : NULL;
}
void free(void* p) { (void)p; }
void* calloc(size_t count, size_t size) {
  return malloc(count * size);  // the memory is zero: no block was in use before
}
void* realloc(void* p, size_t size) {
  void* const q = malloc(size);
  const size_t room = (size_t)(memory + sizeof memory - (unsigned char*)q);
  if (p != NULL && q != NULL) memmove(q, p, size < room ? size : room);
  return q;
}
void* reallocarray(void* p, size_t count, size_t size) { return realloc(p, count * size); }
void* aligned_alloc(size_t alignment, size_t size) {
  used = (used + alignment - 1) / alignment * alignment;
  return malloc(size);
}
