// A process is forked, closes itself into a sandbox as sshd's child does, then allocates. Some children have used a heap
// of several megabytes before, so that whatever starts with the size of a heap starts now.
#include "sandbox.h"

int main(void) {
  for (int i = 0; i < 1000; ++i) free(malloc((size_t)i));
  int lived = 0;
  enum { children = 18 };
  for (int r = 0; r < children; ++r) {
    for (int i = 0; i < 777; ++i) free(malloc((size_t)i));
    pid_t c = fork();
    if (c == 0) {
      sandbox_close(r % 2 ? sandbox_files : 0);
      for (int i = 0; i < 3000; ++i) free(malloc((size_t)(i % 500)));
      const int wrong = r % 6 == 0 ? sandbox_use_heap((unsigned)r) : 0;
      if (r % 3 == 0) exit(wrong);
      _exit(wrong);
    }
    lived += sandbox_ended_well(c);
  }
  printf("%d of %d children lived\n", lived, children);
}
