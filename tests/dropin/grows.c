/* A process may have gigabytes in blocks of any size, also where its addresses have 32 bits. Few pages are touched. */
#include <tests/dropin/require.h>

int main(void) {
  static const size_t sizes[] = {100 * 1000, 2 * 1000 * 1000};
  const size_t bytes = (size_t)3 << 29; /* 1.5 GiB */
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    void** last = NULL;
    for (size_t got = 0; got < bytes; got += sizes[i]) {
      void** const block = malloc(sizes[i]);
      REQUIRE(block != NULL);
      *block = last;
      last = block;
    }
    while (last != NULL) {
      void** const next = *last;
      free(last);
      last = next;
    }
  }
  puts("as expected");
  return 0;
}
