/* What the malloc family does, told line by line and without addresses. The same program runs on
 * the C library and on the drop-in library, and interface_test.py compares what they say.
 * Run: interface_rules rules | interface_rules fuzz SEED OPERATIONS */
#define _GNU_SOURCE
#include <gnu/libc-version.h>
#include <tests/dropin/require.h>

/* glibc 2.38 began to refuse, in aligned_alloc, an alignment that is no power of two. */
static int aligned_alloc_rounds_up(void) {
  int major = 0, minor = 0;
  REQUIRE(sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2);
  return major == 2 && minor < 38;
}
static int is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }
/* Returns: the alignment that a request gets at least: the next power of two, and 16. */
static size_t next_power_of_two(size_t n) {
  size_t power = 16;
  while (power < n) power *= 2;
  return power;
}

/* ---- the rules ---- */

static void tell(const char* call, void* block, size_t alignment, size_t size) {
  const int error = errno;
  if (block == NULL) {
    printf("%s: null, %s\n", call, strerrorname_np(error));
    return;
  }
  REQUIRE(malloc_usable_size(block) >= size);
  REQUIRE((uintptr_t)block % alignment == 0);
  memset(block, 0x5c, size);
  printf("%s: a block\n", call);
  free(block);
}

/* The same, of a call that has not failed yet. */
#define TELL(name, call, alignment, size) (errno = 0, tell(name, call, alignment, size))

#define HALF ((size_t)1 << 63)
#define QUARTER ((size_t)1 << 62)

static void aligned(void) {
  static const size_t alignments[] = {0,       1,           2,    3,        8,       15,   16,
                                      17,      24,          100,  4095,     4096,    4097, 65537,
                                      QUARTER, QUARTER + 1, HALF, HALF + 1, SIZE_MAX};
  static const size_t sizes[] = {0, 100, 100000, PTRDIFF_MAX, SIZE_MAX};
  for (size_t i = 0; i < sizeof alignments / sizeof *alignments; ++i) {
    const size_t alignment = opaque(alignments[i]);
    const size_t told = alignment <= 65537 ? next_power_of_two(alignment) : 1;
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; ++j) {
      const size_t size = opaque(sizes[j]);
      printf("%zu, %zu: ", alignment, size);
      TELL("memalign", memalign(alignment, size), told, size);
      if (is_power_of_two(alignment) || aligned_alloc_rounds_up())
        TELL("aligned_alloc", aligned_alloc(alignment, size), told, size);
      void* block = &block;
      errno = 0;
      const int result = posix_memalign(&block, alignment, size);
      printf("posix_memalign: %s, errno %d\n", result == 0 ? "0" : strerrorname_np(result), errno);
      REQUIRE((result == 0) == (block != (void*)&block));
      if (result == 0) free(block);
    }
  }
}

static void sizes(void) {
  static const size_t sizes[] = {
      0, 1, 4096, HALF - 4097, HALF - 1, HALF, SIZE_MAX - 4096, SIZE_MAX - 4095, SIZE_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const size_t size = opaque(sizes[i]);
    printf("%zu: ", size);
    TELL("malloc", malloc(size), 16, size);
    TELL("calloc", calloc(size, 1), 16, size);
    TELL("calloc", calloc(1, size), 16, size);
    TELL("realloc of null", realloc(NULL, size), 16, size);
    TELL("reallocarray of null", reallocarray(NULL, 1, size), 16, size);
    TELL("valloc", valloc(size), 4096, size);
    TELL("pvalloc", pvalloc(size), 4096, size);
  }
  static const size_t factors[][2] = {
      {SIZE_MAX, 2},     {2, SIZE_MAX}, {(size_t)1 << 32, (size_t)1 << 32},
      {SIZE_MAX / 3, 4}, {0, SIZE_MAX}, {SIZE_MAX, 0}};
  for (size_t i = 0; i < sizeof factors / sizeof *factors; ++i) {
    const size_t count = opaque(factors[i][0]);
    const size_t size = opaque(factors[i][1]);
    printf("%zu times %zu: ", count, size);
    TELL("calloc", calloc(count, size), 16, 0);
    TELL("reallocarray of null", reallocarray(NULL, count, size), 16, 0);
  }
}

/* Of a call to which a block is given, with this errno before. */
#define TELL_RESULT(name, before, call) \
  (errno = before, result = call,       \
   printf(name ": %s, %s\n", result == NULL ? "null" : "a block", strerrorname_np(errno)))

static void existing(void) {
  void* result;
  /* Neither success nor a free may touch errno. */
  TELL_RESULT("realloc to nothing", E2BIG, realloc(malloc(10), opaque(0)));
  TELL_RESULT("reallocarray to nothing", E2BIG, reallocarray(malloc(10), opaque(0), opaque(7)));
  char* text = malloc(20);
  REQUIRE(text != NULL);
  memcpy(text, "nineteen characters", 20);
  TELL_RESULT("realloc to too much", 0, realloc(laundered(text), opaque(SIZE_MAX)));
  REQUIRE(strcmp(text, "nineteen characters") == 0);
  TELL_RESULT("reallocarray to too much", 0,
              reallocarray(laundered(text), opaque(SIZE_MAX / 2), opaque(3)));
  REQUIRE(strcmp(text, "nineteen characters") == 0);
  errno = E2BIG;
  free(text);
  free(NULL);
  free(malloc((size_t)8 << 20));
  printf("free: %s\n", strerrorname_np(errno));
  printf("malloc_usable_size of null: %zu\n", malloc_usable_size(NULL));
  printf("malloc_info with an option: %s\n", strerrorname_np(malloc_info(1, stdout)));
}

/* ---- random calls ---- */

static uint64_t state;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}
static size_t below(size_t n) { return (size_t)(draw() % n); }

static size_t draw_size(void) {
  static const size_t absurd[] = {SIZE_MAX, PTRDIFF_MAX, QUARTER, (size_t)1 << 56};
  switch (below(16)) {
    case 0:
      return 0;
    case 1:
      return below(400000);
    case 2:
    case 3:
      return below(100000);
    case 4:
      return absurd[below(4)] - below(5000);
    default:
      return below(3000);
  }
}
static size_t draw_alignment(void) {
  static const size_t absurd[] = {HALF, HALF + 1, SIZE_MAX, QUARTER};
  switch (below(8)) {
    case 0:
      return below(100);
    case 1:
      return below(70000);
    case 2:
      return absurd[below(4)];
    default:
      return (size_t)1 << below(18);
  }
}

struct held {
  unsigned char* block;
  size_t size;
  unsigned char byte;
};
enum { held_max = 300 };
static struct held all[held_max];

static void require_content(const struct held* h, size_t size) {
  for (size_t i = 0; i < size; ++i) REQUIRE(h->block[i] == h->byte);
}
static void fill(struct held* h) {
  h->byte = (unsigned char)draw();
  memset(h->block, h->byte, h->size);
}

/* Effects: prints what became of a request, and keeps its block. */
static void take(struct held* h, const char* call, void* block, size_t alignment, size_t size) {
  const int error = errno;
  printf("%s %zu %zu: %s\n", call, alignment, size,
         block != NULL ? "a block" : strerrorname_np(error));
  if (block == NULL) return;
  REQUIRE((uintptr_t)block % next_power_of_two(alignment) == 0);
  REQUIRE(malloc_usable_size(block) >= size);
  h->block = block;
  h->size = size;
  fill(h);
}

static void change(struct held* h) {
  const size_t size = draw_size();
  const size_t count = 1 + below(3);
  size_t bytes = 0;
  const int overflow = __builtin_mul_overflow(count, size, &bytes);
  void* const before = laundered(h->block);
  errno = 0;
  void* const block =
      below(2) == 0 && !overflow ? realloc(before, bytes) : reallocarray(before, count, size);
  const int error = errno;
  printf("realloc %zu -> %zu: %s\n", h->size, bytes,
         block != NULL ? "a block" : strerrorname_np(error));
  if (block == NULL) {
    if (bytes == 0 && !overflow) {
      h->block = NULL; /* that was a free */
    } else {
      require_content(h, h->size);
    }
    return;
  }
  h->block = block;
  REQUIRE((uintptr_t)block % 16 == 0 && malloc_usable_size(block) >= bytes);
  require_content(h, h->size < bytes ? h->size : bytes);
  h->size = bytes;
  fill(h);
}

static void request(struct held* h) {
  const size_t size = draw_size();
  size_t alignment = draw_alignment();
  errno = 0;
  switch (below(8)) {
    case 0: {
      const size_t count = 1 + below(4);
      unsigned char* block = calloc(count, size);
      size_t bytes = 0;
      if (block != NULL) {
        REQUIRE(!__builtin_mul_overflow(count, size, &bytes));
        for (size_t i = 0; i < bytes; ++i) REQUIRE(block[i] == 0);
      }
      take(h, "calloc", block, 16, bytes);
      return;
    }
    case 1:
      take(h, "memalign", memalign(alignment, size), alignment, size);
      return;
    case 2:
      while (!is_power_of_two(alignment) && !aligned_alloc_rounds_up()) ++alignment;
      take(h, "aligned_alloc", aligned_alloc(alignment, size), alignment, size);
      return;
    case 3: {
      void* block = NULL;
      const int result = posix_memalign(&block, alignment, size);
      errno = result;
      take(h, "posix_memalign", block, alignment, size);
      return;
    }
    case 4:
      take(h, "valloc", valloc(size), 4096, size);
      return;
    case 5:
      take(h, "pvalloc", pvalloc(size), 4096, size);
      return;
    default:
      take(h, "malloc", malloc(size), 16, size);
      return;
  }
}

static void fuzz(uint64_t seed, uint64_t operations) {
  state = seed * 0x9e3779b97f4a7c15U + 1;
  for (uint64_t i = 0; i < operations; ++i) {
    struct held* const h = &all[below(held_max)];
    if (h->block == NULL) {
      request(h);
    } else if (below(2) == 0) {
      change(h);
    } else {
      require_content(h, h->size);
      errno = (int)below(50);
      const int before = errno;
      free(h->block);
      REQUIRE(errno == before);
      h->block = NULL;
    }
  }
  for (size_t i = 0; i < held_max; ++i) {
    if (all[i].block == NULL) continue;
    require_content(&all[i], all[i].size);
    free(all[i].block);
  }
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "fuzz") == 0) {
    fuzz(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
  } else {
    aligned();
    sizes();
    existing();
  }
  puts("rules: well");
  return 0;
}
