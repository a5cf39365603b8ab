// A process enters SECCOMP_MODE_STRICT, in which it may read, write and end, uses the memory that it has, and ends.
// Editions: default
#include "outside.h"

int main(void) {
  enum { count = 500 };
  static char* block[count];
  for (int r = 0; r < 50; ++r) {
    if (r == 1 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 77;
    for (int i = 0; i < count; ++i) memset(block[i] = malloc((size_t)i + 1), i, (size_t)i + 1);
    for (int i = 0; i < count; ++i) free(block[i]);
  }
  if (write(1, "it goes on\n", 11) != 11) return 1;
  syscall(SYS_exit, 0);
}
