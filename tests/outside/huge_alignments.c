// Alignments up to a gibibyte, several blocks at once; realloc of an aligned block keeps what is in
// it.
#include "outside.h"

int main(void) {
  for (int shift = 4; shift <= 30; ++shift) {
    size_t alignment = (size_t)1 << shift;
    char* blocks[6];
    for (int i = 0; i < 6; ++i) {
      size_t size = i == 0 ? 1 : i == 1 ? 100000 : (size_t)i * 3000;
      void* block = NULL;
      if (i % 3 == 0) block = memalign(alignment, size);
      if (i % 3 == 1) block = aligned_alloc(alignment, size);
      if (i % 3 == 2) CHECK(posix_memalign(&block, alignment, size) == 0);
      CHECK(block != NULL && (uintptr_t)block % alignment == 0 &&
            malloc_usable_size(block) >= size);
      blocks[i] = (char*)memset(block, i, size);
    }
    for (int i = 0; i < 6; ++i) {
      size_t size = i == 0 ? 1 : i == 1 ? 100000 : (size_t)i * 3000;
      blocks[i] = (char*)realloc(blocks[i], size * 3);
      CHECK(blocks[i][0] == i && blocks[i][size - 1] == i);
      if (i % 2) blocks[i] = (char*)realloc(blocks[i], 1), CHECK(blocks[i][0] == i);
      free(blocks[i]);
    }
  }
  puts("aligned");
}
