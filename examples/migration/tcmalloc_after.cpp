// What tcmalloc_before.cpp does, on ashlar's drop-in library: the C library's own names.
#include <cstdio>
#include <cstdlib>

#include <malloc.h>

namespace {

std::size_t bytes_in_use() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

}  // namespace

int main() {
  const std::size_t before = bytes_in_use();
  void* const large = std::malloc(8 << 20);
  std::printf("8 MiB are seen: %d\n", bytes_in_use() - before >= 8 << 20 ? 1 : 0);
  std::printf("usable: %d\n", malloc_usable_size(large) >= 8 << 20 ? 1 : 0);
  std::free(large);
  malloc_trim(0);
  std::printf("and they are gone: %d\n", bytes_in_use() < before + 8192 ? 1 : 0);
  return 0;
}
