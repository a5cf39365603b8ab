// With mimalloc: a heap that goes as a whole, a container, and an aligned block of zeros.
// mimalloc_after.cpp does the same with ashlar.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <mimalloc.h>

namespace {

int words_of_a_request() {
  mi_heap_t* const request = mi_heap_new();
  int words = 0;
  while (words < 1000 && mi_heap_malloc(request, 100) != nullptr) ++words;
  mi_heap_destroy(request);
  return words;
}

}  // namespace

int main() {
  std::printf("%d words, gone at once\n", words_of_a_request());

  std::vector<int, mi_stl_allocator<int>> numbers(1000, 7);
  std::printf("%zu numbers\n", numbers.size());

  auto* const line = static_cast<unsigned char*>(mi_zalloc_aligned(256, 64));
  if (line == nullptr) return 1;
  std::printf("aligned: %d, usable: %d, byte 255: %d\n",
              reinterpret_cast<std::uintptr_t>(line) % 64 == 0 ? 1 : 0,
              mi_usable_size(line) >= 256 ? 1 : 0, line[255]);
  mi_free(line);
  mi_collect(true);
  return 0;
}
