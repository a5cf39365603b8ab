// A process closes itself into a sandbox that kills, uses the whole interface of malloc, and ends.
#include "sandbox.h"

static int child(int may) {
  const pid_t c = fork();
  if (c == 0) {
    char path[64];
    snprintf(path, sizeof path, "%d", may);
    execl("/proc/self/exe", "sandboxed", path, (char*)0);
    _exit(9);
  }
  return sandbox_ended_well(c);
}

int main(int argc, char** argv) {
  if (argc > 1) {  // anew, without a fork behind it
    sandbox_close(atoi(argv[1]));
    return sandbox_use_heap(7);
  }
  printf("files denied: %d, allowed: %d\n", child(0), child(sandbox_files));
}
