// A signal handler forks. It has interrupted malloc, free, realloc or calloc of small, large and huge blocks, in a process
// with one thread. The children end, and the parent goes on.
#include "outside.h"

enum { forks = 60, blocks = 100 };
static volatile int done, failed;

static void fork_here(int s) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  failed += status != 0;
  ++done;
}

int main(void) {
  const struct sigaction act = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
  sigaction(SIGVTALRM, &act, 0);
  static void* b[blocks];
  static size_t bytes[blocks];
  unsigned s = 1;
  const struct itimerval soon = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_VIRTUAL, &soon, 0);
  while (done < forks) {
    s = s * 1103515245 + 12345;
    const int k = (s >> 8) % blocks;
    const unsigned kind = (s >> 17) % 16;
    size_t size = kind == 0 ? 3000000 : kind < 4 ? 200000 : kind < 8 ? 20000 : 300;
    size = (s >> 4) % size + 1;
    switch ((s >> 25) % 4) {
      case 0:
        b[k] = realloc(b[k], size);
        break;
      case 1:
        free(b[k]);
        b[k] = calloc(1, size);
        break;
      case 2:
        free(b[k]);
        b[k] = 0;
        size = 0;
        break;
      default:
        free(b[k]);
        b[k] = malloc(size);
    }
    bytes[k] = size;
    if (size != 0) ((char*)b[k])[size - 1] = 1;
  }
  printf("%d children failed\n", failed);
}
