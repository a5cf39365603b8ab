// A server in a sandbox that kills forks, and its children fork. Each allocates.
#include "sandbox.h"

static int generations(int left) {
  if (sandbox_use_heap((unsigned)left) != 0) return 1;
  if (left == 0) return 0;
  const pid_t c = fork();
  if (c == 0) _exit(generations(left - 1));
  int status = -1;
  wait4(c, &status, 0, 0);
  return status == 0 && sandbox_use_heap(100u + (unsigned)left) == 0 ? 0 : 1;
}

int main(void) {
  int lived = 0;
  for (int r = 0; r < 3; ++r) {
    const pid_t c = fork();
    if (c == 0) {
      sandbox_close(sandbox_forks);
      _exit(generations(2));
    }
    lived += sandbox_ended_well(c);
  }
  printf("%d of 3 lived\n", lived);
}
