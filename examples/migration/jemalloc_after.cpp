// What jemalloc_before.cpp does, on ashlar's drop-in library: the C library's own names, and a heap
// instance of libashlar in the arena's place.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <malloc.h>

#include <ashlar/instance/heap.hpp>

namespace {

std::size_t bytes_in_use() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

int words_of_a_tenant() {
  ashlar::heap tenant({.name = "tenant"});
  int words = 0;
  while (words < 1000 && tenant.try_allocate(100) != nullptr) ++words;
  return words;  // the heap's end frees them all
}

}  // namespace

int main() {
  std::printf("%d words, gone at once\n", words_of_a_tenant());

  void* const line = std::aligned_alloc(64, 256);
  std::printf("aligned: %d\n", reinterpret_cast<std::uintptr_t>(line) % 64 == 0 ? 1 : 0);
  std::free(line);

  const std::size_t before = bytes_in_use();
  void* const large = std::malloc(8 << 20);
  std::printf("8 MiB are seen: %d, usable: %d\n", bytes_in_use() - before >= 8 << 20 ? 1 : 0,
              malloc_usable_size(large) >= 8 << 20 ? 1 : 0);
  std::free(large);
  malloc_trim(0);
  return 0;
}
