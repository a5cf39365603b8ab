// posix_memalign of wrong alignments, and of more than there is: EINVAL and ENOMEM are returned, and the caller's pointer
// does not change. The other aligned calls set errno. With and without a limit of addresses.
#include "outside.h"

static void* const untouched = (void*)0x1234;

static const char* name(int error) {
  return error == 0        ? "0"
         : error == EINVAL ? "EINVAL"
         : error == ENOMEM ? "ENOMEM"
         : error == 77     ? "kept"
                           : "?";
}

static void posix(size_t alignment, size_t size) {
  void* p = untouched;
  const int result = posix_memalign(&p, alignment, size);  // glibc also sets errno
  printf("%zx %zx: %s", alignment, size, name(result));
  if (result != 0) {
    puts(p == untouched ? "" : ", pointer changed");
    return;
  }
  puts((uintptr_t)p % alignment == 0 ? ", aligned" : ", not aligned");
  if (size != 0) memset(p, 1, size < 100000 ? size : 100000);
  free(p);
}

static void others(size_t alignment, size_t size) {
  errno = 77;
  void* p = memalign(alignment, size);
  printf("memalign %zx %zx: %s, errno %s\n", alignment, size, p == 0 ? "null" : "block",
         name(errno));
  free(p);
  errno = 77;
  p = aligned_alloc(alignment, size);
  printf("aligned_alloc: %s, errno %s\n", p == 0 ? "null" : "block", name(errno));
  free(p);
}

static void all(void) {
  static const size_t wrong[] = {0,  1,  2,   4,    3,    7,        12,           24,
                                 40, 48, 100, 4095, 4097, SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2};
  static const size_t right[] = {8, 16, 64, 256, 4096, 65536, 1 << 20};
  static const size_t small[] = {0, 1, 100, 5000, 200000};
  static const size_t huge[] = {PTRDIFF_MAX - 100000,
                                PTRDIFF_MAX - 4096,
                                PTRDIFF_MAX - 1,
                                PTRDIFF_MAX,
                                (size_t)PTRDIFF_MAX + 1,
                                SIZE_MAX - (2 << 20),
                                SIZE_MAX - 65536,
                                SIZE_MAX - 4097,
                                SIZE_MAX - 4096,
                                SIZE_MAX - 4095,
                                SIZE_MAX - 64,
                                SIZE_MAX - 16,
                                SIZE_MAX - 8,
                                SIZE_MAX - 1,
                                SIZE_MAX,
                                (size_t)1 << 48,
                                (size_t)1 << 62};
  for (size_t a = 0; a < sizeof wrong / sizeof *wrong; ++a) {
    for (size_t i = 0; i < sizeof small / sizeof *small; ++i) posix(wrong[a], small[i]);
    for (size_t i = 0; i < sizeof huge / sizeof *huge; ++i) posix(wrong[a], huge[i]);
  }
  for (size_t a = 0; a < sizeof right / sizeof *right; ++a) {
    for (size_t i = 0; i < sizeof small / sizeof *small; ++i) posix(right[a], small[i]);
    for (size_t i = 0; i < sizeof huge / sizeof *huge; ++i) {
      posix(right[a], huge[i]);
      others(right[a], huge[i]);
    }
  }
  // An alignment as large as there are addresses.
  for (size_t alignment = (size_t)1 << 48; alignment != 0; alignment <<= 1) {
    posix(alignment, 1);
    posix(alignment, SIZE_MAX - 8);
    others(alignment, 1);
  }
}

int main(void) {
  all();
  const struct rlimit limit = {(rlim_t)3 << 30, (rlim_t)3 << 30};
  setrlimit(RLIMIT_AS, &limit);
  puts("with 3 GiB of addresses");
  all();
  posix(4096, (size_t)3 << 30);
  posix((size_t)1 << 20, (size_t)3 << 30);
  posix(64, (size_t)100 << 30);
  others(4096, (size_t)3 << 30);
  // What was refused leaves a heap that works.
  for (int i = 0; i < 100; ++i) posix(64, 10000 * i);
}
