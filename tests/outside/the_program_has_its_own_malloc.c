// The program defines the whole family itself. A preloaded allocator then serves nobody, and stays
// out of the way.
#include "outside.h"

static _Alignas(64) char pool[64 << 20];
static size_t used;
static void* carve(size_t alignment, size_t size) {
  size_t bytes = (size + 15) / 16 * 16 + alignment + 16;
  size_t at = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
  if (size > sizeof pool || at + bytes > sizeof pool) return errno = ENOMEM, (void*)NULL;
  char* block = (char*)(((size_t)pool + at + 16 + alignment - 1) / alignment * alignment);
  ((size_t*)block)[-1] = size;
  return block;
}
void* malloc(size_t size) { return carve(16, size); }
void free(void* block) {
  if (block != NULL && ((char*)block < pool || (char*)block >= pool + sizeof pool)) abort();
}
void* calloc(size_t count, size_t size) { return carve(16, count * size); }
void* realloc(void* block, size_t size) {
  void* moved = carve(16, size);
  if (block == NULL || moved == NULL) return moved;
  size_t old = ((size_t*)block)[-1];
  return memcpy(moved, block, old < size ? old : size);
}
void* memalign(size_t alignment, size_t size) {
  return carve(alignment < 16 ? 16 : alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** block, size_t alignment, size_t size) {
  return (*block = memalign(alignment, size)) != NULL ? 0 : ENOMEM;
}
void* valloc(size_t size) { return memalign(4096, size); }
void* pvalloc(size_t size) { return memalign(4096, size); }
size_t malloc_usable_size(void* block) { return block != NULL ? ((size_t*)block)[-1] : 0; }

static int foreign;
static void* body(void* p) {
  use_heap(2, 500);
  char* text = strdup("by the program's own");
  foreign += text < pool || text >= pool + sizeof pool;
  free(text);
  return p;
}

int main(void) {
  void* library = dlopen("libresolv.so.2", RTLD_NOW);
  run_threads(3, body);
  CHECK_CHILD(4, use_heap(1, 100), exit(4));
  if (library != NULL) dlclose(library);
  char* line = NULL;
  size_t room = 0;
  FILE* self = fopen("/proc/self/status", "r");
  CHECK(getline(&line, &room, self) > 0);
  fclose(self);
  foreign += line < pool || line >= pool + sizeof pool;
  printf("of another allocator: %d\n", foreign);
}
