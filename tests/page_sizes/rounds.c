/* Pages come and go, and the process stays as large as it was: the drop-in library where the system's page has
 * argv[1] bytes. Blocks of all sizes grow, shrink and are given back, many times more than may be resident. */
#include <tests/dropin/require.h>

enum { rounds = 24, blocks_max = 4000 };
static const size_t live_bytes_max = (size_t)32 << 20;

static size_t size_of(unsigned round, unsigned i) {
  /* From 16 bytes to 4 MiB: most are small, and each round has other ones. */
  const unsigned shift = (i * 7 + round) % 19 % (i % 64 == 0 ? 19 : 11);
  return ((size_t)16 << shift) + i % 61;
}

int main(int argc, char** argv) {
  REQUIRE(argc == 2 && sysconf(_SC_PAGESIZE) == atol(argv[1]));
  static unsigned char* blocks[blocks_max];
  size_t handed_out = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    unsigned count = 0;
    for (size_t live = 0; count < blocks_max && live < live_bytes_max; ++count) {
      const size_t size = size_of(round, count);
      unsigned char* block = malloc(size);
      REQUIRE(block != NULL && (uintptr_t)block % 16 == 0);
      memset(block, (int)(count % 251), size);
      if (count % 5 == 0) {
        block = realloc(block, size * 2);
        REQUIRE(block != NULL);
        memset(block + size, (int)(count % 251), size);
      }
      blocks[count] = block;
      live += size;
      handed_out += size;
    }
    /* Every other one first, so that what is given back lies between what is in use. */
    for (unsigned first = 0; first < 2; ++first)
      for (unsigned i = first; i < count; i += 2) {
        const size_t size = size_of(round, i) * (i % 5 == 0 ? 2 : 1);
        REQUIRE(blocks[i][0] == i % 251 && blocks[i][size / 2] == i % 251 &&
                blocks[i][size - 1] == i % 251);
        free(blocks[i]);
      }
  }
  REQUIRE(handed_out > 10 * live_bytes_max);
  puts("as expected");
  return 0;
}
