/* Usage: classes BYTES BYTES BYTES: what blocks of 10, 100 and 1100 bytes have to hold; then every other call of the
   family on sizes around those of the classes. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

int main(int count, char** arguments) {
  static const size_t asked[] = {10, 100, 1100};
  EXPECT(count == 4);
  for (int i = 0; i < 3; ++i) {
    void* const block = malloc(asked[i]);
    EXPECT(malloc_usable_size(block) == strtoul(arguments[i + 1], NULL, 10));
    free(block);
  }
  for (size_t size = 0; size < 140000; size += 97) {
    for (size_t alignment = 16; alignment <= 4096; alignment *= 4) {
      void* block = NULL;
      EXPECT(posix_memalign(&block, alignment, size) == 0);
      EXPECT((uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= size);
      memset(block, 0x5a, size);
      free(block);
    }
    unsigned char* block = calloc(1, size);
    for (size_t i = 0; i < size; i += 61) EXPECT(block[i] == 0);
    memset(block, 0x77, size);
    block = realloc(block, size + 1000);
    for (size_t i = 0; i < size; i += 61) EXPECT(block[i] == 0x77);
    memset(block, 0x77, size + 1000);
    free(block);
  }
  printf("as expected: %s %s %s\n", arguments[1], arguments[2], arguments[3]);
  return 0;
}
