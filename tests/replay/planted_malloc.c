/* An allocator with a fault that PLANTED names, for blocks of 777 bytes only: the worker's own start needs none.
   Behind it is the C library's. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

enum { planted_size = 777 };

static int planted(const char* fault) {
  const char* wanted = getenv("PLANTED");
  return wanted != NULL && strcmp(wanted, fault) == 0;
}

void* malloc(size_t size) {
  static unsigned char* last;
  static size_t count;
  if (size != planted_size) return __libc_malloc(size);
  ++count;
  if (planted("null") && count % 3 == 0) return NULL;
  if (planted("crash") && count == 5) abort();
  if (planted("same") && last != NULL) return last; /* a block that lives is given out again */
  unsigned char* block = __libc_malloc(size);
  if (planted("corrupt") && last != NULL && count == 4) last[planted_size - 1] ^= 1;
  last = block;
  return block;
}
void free(void* block) {
  if (!planted("same") && !planted("crooked")) __libc_free(block);
}
void* calloc(size_t count, size_t size) {
  void* block = __libc_calloc(count, size);
  if (planted("dirty") && block != NULL && count * size == planted_size) *(char*)block = 1;
  return block;
}
void* realloc(void* block, size_t size) {
  if (planted("forgets") && size == planted_size) return __libc_malloc(size);
  return __libc_realloc(block, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  if (!planted("crooked") || size != planted_size) return __libc_memalign(alignment, size);
  return (char*)__libc_memalign(alignment, size + alignment) + 16;
}
