// All of malloc_usable_size may be written, at every size and alignment, while all neighbours live;
// addresses are aligned as max_align_t, and of small blocks as much as fits.
#include "outside.h"

enum { most = 1800 };
static unsigned char* blocks[3][most];

static void fill(unsigned char* block, int value) {
  memset(block, value, malloc_usable_size(block));
}
static void look(const unsigned char* block, int value) {
  for (size_t i = 0; i < malloc_usable_size((void*)block); ++i)
    CHECK(block[i] == (unsigned char)value);
}

int main(void) {
  for (int n = 0; n < most; ++n) {
    blocks[0][n] = (unsigned char*)malloc((size_t)n);
    blocks[1][n] = (unsigned char*)calloc(1, (size_t)n * 7);
    blocks[2][n] = (unsigned char*)memalign((size_t)16 << n % 9, (size_t)n);
    for (int k = 0; k < 3; ++k) {
      CHECK(malloc_usable_size(blocks[k][n]) >= (size_t)n && (uintptr_t)blocks[k][n] % 16 == 0);
      fill(blocks[k][n], n + k);
    }
  }
  for (int n = 0; n < most; ++n)
    for (int k = 0; k < 3; ++k) look(blocks[k][n], n + k);
  for (int n = 0; n < most; n += 2)
    for (int k = 0; k < 3; ++k) {
      size_t usable = malloc_usable_size(blocks[k][n]);
      blocks[k][n] = (unsigned char*)realloc(blocks[k][n], usable + 1);
      for (size_t i = 0; i < usable; ++i) CHECK(blocks[k][n][i] == (unsigned char)(n + k));
      fill(blocks[k][n], n + k);
    }
  for (int n = 0; n < most; ++n)
    for (int k = 0; k < 3; ++k) look(blocks[k][n], n + k), free(blocks[k][n]);
  puts("written");
}
