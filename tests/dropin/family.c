/* Every function of the malloc family, as the standards and the manuals describe it. C, because
 * these are C's functions; run with the drop-in library preloaded. */
#define _GNU_SOURCE
#include <tests/dropin/require.h>
#include <tests/support/glibc_names.h>

static int is_aligned(const void* block, size_t alignment) {
  return (uintptr_t)block % alignment == 0;
}

static void fill(void* block, size_t size) { memset(block, 0x5c, size); }

static void basic(void) {
  void* block = malloc(100);
  REQUIRE(block != NULL && is_aligned(block, 16));
  REQUIRE(malloc_usable_size(block) >= 100);
  fill(block, malloc_usable_size(block));
  free(block);
  free(NULL);
  REQUIRE(malloc_usable_size(NULL) == 0);
  void* first = malloc(0);
  void* second = malloc(0);
  REQUIRE(first != NULL && second != NULL && (uintptr_t)first != (uintptr_t)second);
  free(first);
  free(second);
  errno = 0;
  REQUIRE(malloc(opaque(SIZE_MAX)) == NULL && errno == ENOMEM);
  errno = 0;
  REQUIRE(malloc(opaque((size_t)PTRDIFF_MAX + 1)) == NULL && errno == ENOMEM);
  block = malloc(5);
  errno = 4711;
  free(block);
  REQUIRE(errno == 4711);
}

static void zeroed(void) {
  for (size_t size = 1; size < 300000; size = size * 3 + 1) {
    void* dirty = malloc(size);
    REQUIRE(dirty != NULL);
    fill(dirty, size);
    free(dirty);
    unsigned char* bytes = calloc(size, 1);
    REQUIRE(bytes != NULL);
    for (size_t i = 0; i < size; ++i) REQUIRE(bytes[i] == 0);
    free(bytes);
  }
  errno = 0;
  REQUIRE(calloc(opaque(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM);
  void* nothing = calloc(0, 10);
  REQUIRE(nothing != NULL);
  free(nothing);
}

static void resized(void) {
  char* text = realloc(NULL, 20);
  REQUIRE(text != NULL);
  memcpy(text, "nineteen characters", 20);
  for (size_t size = 21; size < 5000000; size = size * 2 + 7) {
    text = realloc(text, size);
    REQUIRE(text != NULL && strcmp(text, "nineteen characters") == 0);
    REQUIRE(malloc_usable_size(text) >= size);
  }
  errno = 0;
  REQUIRE(realloc(text, opaque(SIZE_MAX)) == NULL && errno == ENOMEM);
  REQUIRE(strcmp(text, "nineteen characters") == 0);
  text = realloc(text, 20);
  REQUIRE(text != NULL && strcmp(text, "nineteen characters") == 0);
  REQUIRE(realloc(text, opaque(0)) == NULL);
  /* The smallest block would serve 0 bytes well. */
  REQUIRE(realloc(malloc(opaque(10)), opaque(0)) == NULL);

  int* numbers = reallocarray(NULL, 10, sizeof *numbers);
  REQUIRE(numbers != NULL);
  for (int i = 0; i < 10; ++i) numbers[i] = i;
  numbers = reallocarray(numbers, 100000, sizeof *numbers);
  REQUIRE(numbers != NULL);
  for (int i = 0; i < 10; ++i) REQUIRE(numbers[i] == i);
  errno = 0;
  REQUIRE(reallocarray(numbers, opaque(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM);
  for (int i = 0; i < 10; ++i) REQUIRE(numbers[i] == i);
  free(numbers);
}

static void aligned(void) {
  static const size_t sizes[] = {0, 1, 8, 100, 4096, 5000, 100000, 3000000};
  for (size_t alignment = sizeof(void*); alignment <= ((size_t)4 << 20); alignment *= 2) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      void* marker = &marker;
      void* block = marker;
      REQUIRE(posix_memalign(&block, alignment, sizes[i]) == 0);
      REQUIRE(block != marker && is_aligned(block, alignment));
      if (block != NULL) REQUIRE(malloc_usable_size(block) >= sizes[i]);
      if (block != NULL) fill(block, sizes[i]);
      free(block);
      block = aligned_alloc(alignment, sizes[i]);
      REQUIRE(block != NULL && is_aligned(block, alignment));
      fill(block, sizes[i]);
      free(block);
      block = memalign(alignment, sizes[i]);
      REQUIRE(block != NULL && is_aligned(block, alignment));
      block = realloc(block, sizes[i] + 1000);
      REQUIRE(block != NULL);
      fill(block, sizes[i] + 1000);
      free(block);
    }
  }
  /* posix_memalign tells by its result and leaves the pointer alone. */
  static const size_t wrong[] = {0, 1, 2, sizeof(void*) / 2, 3, 24, 100, 4097};
  int here;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    for (size_t size = 64; size <= 4096; size *= 2) {
      void* block = &here;
      REQUIRE(posix_memalign(&block, opaque(wrong[i]), size) == EINVAL);
      REQUIRE(block == &here);
    }
  }
  /* The other two take what is no power of two for the next one, as glibc does. */
  for (size_t alignment = 0, next = 1; alignment <= 5000; ++alignment) {
    if (alignment > next) next *= 2;
    for (size_t size = 48; size <= 6144; size *= 2) {
      void* a = aligned_alloc(opaque(alignment), size);
      void* b = memalign(opaque(alignment), size);
      REQUIRE(a != NULL && is_aligned(a, next) && b != NULL && is_aligned(b, next));
      free(a);
      free(b);
    }
  }
  void* untouched = &here;
  REQUIRE(posix_memalign(&untouched, 64, opaque(SIZE_MAX - 100)) == ENOMEM);
  REQUIRE(untouched == &here);
  errno = 0;
  REQUIRE(aligned_alloc(opaque(64), opaque(SIZE_MAX - 63)) == NULL && errno == ENOMEM);
  errno = 0;
  REQUIRE(memalign(opaque(4096), opaque((size_t)PTRDIFF_MAX + 1)) == NULL && errno == ENOMEM);
  void* huge_page = aligned_alloc((size_t)2 << 20, (size_t)6 << 20);
  REQUIRE(huge_page != NULL && is_aligned(huge_page, (size_t)2 << 20));
  fill(huge_page, (size_t)6 << 20);
  free(huge_page);
}

static void whole_pages(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void* block = valloc(100);
  REQUIRE(block != NULL && is_aligned(block, page));
  free(block);
  block = pvalloc(1);
  REQUIRE(block != NULL && is_aligned(block, page) && malloc_usable_size(block) >= page);
  fill(block, page);
  free(block);
  block = pvalloc(page + 1);
  REQUIRE(block != NULL && is_aligned(block, page) && malloc_usable_size(block) >= 2 * page);
  fill(block, 2 * page);
  free(block);
  errno = 0;
  REQUIRE(pvalloc(opaque(SIZE_MAX)) == NULL && errno == ENOMEM);
  errno = 0;
  REQUIRE(valloc(opaque(SIZE_MAX)) == NULL && errno == ENOMEM);
}

int main(void) {
  basic();
  zeroed();
  resized();
  aligned();
  whole_pages();
  puts("family: well");
  return 0;
}
