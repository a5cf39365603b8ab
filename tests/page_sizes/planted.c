/* Calls for parts of a page, where it has 64 KiB: page_sizes_test.py must find them. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <tests/dropin/require.h>

int main(void) {
  const size_t page = 65536;
  char* const pages =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(mprotect(pages + 4096, 4096, PROT_READ) == 0);
  REQUIRE(madvise(pages + page, 4096, MADV_DONTNEED) == 0);
  return 0;
}
