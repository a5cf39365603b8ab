// The program defines the whole family itself. A preloaded allocator then serves nobody, and stays
// out of the way. The operators, which the program leaves to others, are made of its family, so a
// block may come by one and go by the other.
#include <memory>
#include <new>
#include <string>

#include "outside.h"

alignas(64) static char pool[64 << 20];
static size_t used;
static void* carve(size_t alignment, size_t size) {
  size_t bytes = (size + 15) / 16 * 16 + alignment + 16;
  size_t at = size <= sizeof pool ? __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED) : size;
  if (at + bytes > sizeof pool) return errno = ENOMEM, (void*)NULL;
  char* block = (char*)(((size_t)pool + at + 16 + alignment - 1) / alignment * alignment);
  ((size_t*)block)[-1] = size;
  return block;
}
extern "C" {
void* malloc(size_t size) noexcept { return carve(16, size); }
void free(void* block) noexcept {
  if (block != NULL && ((char*)block < pool || (char*)block >= pool + sizeof pool)) abort();
}
void* calloc(size_t count, size_t size) noexcept { return carve(16, count * size); }
void* realloc(void* block, size_t size) noexcept {
  void* moved = carve(16, size);
  if (block == NULL || moved == NULL) return moved;
  size_t old = ((size_t*)block)[-1];
  return memcpy(moved, block, old < size ? old : size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  return carve(alignment < 16 ? 16 : alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  return (*block = memalign(alignment, size)) != NULL ? 0 : ENOMEM;
}
void* valloc(size_t size) noexcept { return memalign(4096, size); }
void* pvalloc(size_t size) noexcept { return memalign(4096, size); }
size_t malloc_usable_size(void* block) noexcept { return block != NULL ? ((size_t*)block)[-1] : 0; }
}

static int foreign;
static void* expect_own(void* block) {
  foreign += (char*)block < pool || (char*)block >= pool + sizeof pool;
  return block;
}
static void* body(void* p) {
  use_heap(2, 500);
  free(expect_own(strdup("by the program's own")));
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
  free(expect_own(line));

  constexpr auto aligned = std::align_val_t{128};
  free(expect_own(operator new(100)));
  free(expect_own(operator new[](0)));
  free(expect_own(operator new(100, aligned)));
  free(expect_own(operator new[](100, std::nothrow)));
  free(expect_own(operator new[](100, aligned, std::nothrow)));
  operator delete(malloc(40));
  operator delete(malloc(40), size_t{40});
  operator delete[](malloc(40));
  operator delete[](malloc(40), size_t{40});
  operator delete(memalign(128, 40), aligned);
  operator delete[](memalign(128, 40), size_t{40}, aligned);
  operator delete(malloc(40), std::nothrow);
  operator delete(nullptr);
  bool is_refused = false;
  try {
    expect_own(operator new(sizeof pool * 2));
  } catch (const std::bad_alloc&) {
    is_refused = true;
  }
  CHECK(is_refused && operator new(sizeof pool * 2, aligned, std::nothrow) == nullptr);
  try {
    throw std::make_shared<std::string>(5'000, 'x');
  } catch (const std::shared_ptr<std::string>& thrown) {
    expect_own(thrown.get());
    expect_own(thrown->data());
  }
  printf("of another allocator: %d\n", foreign);
}
