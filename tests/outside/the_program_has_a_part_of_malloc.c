// The program defines the four functions that the C standard had first, and leaves the rest of the family to others, as
// many do. A library asks how long a block is, as systemd's do: nothing ends, and no block seems longer than it is. What
// the C library makes of malloc by itself is of the program's.
#include "outside.h"

static char pool[16 << 20];
static size_t used;
static int is_own(const void* block) {
  return (const char*)block >= pool && (const char*)block < pool + sizeof pool;
}
void* malloc(size_t size) {
  const size_t bytes = (size + 31) / 16 * 16;
  const size_t at = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
  if (size > sizeof pool || at + bytes > sizeof pool) return errno = ENOMEM, NULL;
  *(size_t*)(pool + at + 8) = size;
  return pool + at + 16;
}
void free(void* block) { CHECK(block == NULL || is_own(block)); }
void* calloc(size_t count, size_t size) { return malloc(count * size); }
void* realloc(void* block, size_t size) {
  void* const moved = malloc(size);
  const size_t old = block != NULL ? ((size_t*)block)[-1] : 0;
  return block == NULL || moved == NULL ? moved : memcpy(moved, block, old < size ? old : size);
}

int main(void) {
  char* block = (char*)malloc(100);
  CHECK(malloc_usable_size(NULL) == 0 && malloc_usable_size(block) <= 104);
  block = (char*)reallocarray(block, 50, 4);
  CHECK(is_own(block) && is_own(strdup("of the program's")));
  void* aligned = NULL;
  CHECK(posix_memalign(&aligned, 64, 100) == 0 && malloc_usable_size(aligned) >= 100);
  CHECK(malloc_trim(0) >= 0 && malloc_usable_size(block) <= 200);
  free(block);
  printf("%d\n", mallopt(M_MMAP_MAX, 1));
  fflush(stdout);
}
