// Started without standard descriptors, or all are closed later: the program's own files get the
// lowest numbers, and nothing but the program writes to them. Also with a limit of no descriptors
// at all.
#include "outside.h"

static void* body(void* p) {
  use_heap(4, 1000);
  return p;
}
static int lowest(int limit_first) {
  if (limit_first) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    use_heap(1, 3000);
    pthread_t t;
    if (pthread_create(&t, NULL, body, NULL) != 0 || pthread_join(t, NULL) != 0) return 1;
    malloc_trim(0);
    return 40;
  }
  char name[] = "file_XXXXXX";
  int fds[3];
  fds[0] = mkstemp(name);
  for (int i = 1; i < 3; ++i) fds[i] = open(name, O_RDWR | O_APPEND);
  for (int i = 0; i < 3; ++i)
    if (fds[i] != i) return 2;
  use_heap(1, 3000);
  mallopt(M_MMAP_THRESHOLD, -7);
  pthread_t t;
  if (pthread_create(&t, NULL, body, NULL) != 0 || pthread_join(t, NULL) != 0) return 3;
  if (malloc((size_t)-1 / 2) != NULL || malloc_trim(0) < 0) return 4;
  free(calloc(1, 50 << 20));
  return lseek(0, 0, SEEK_END) == 0 ? 41 : 5;
}

int main(int count, char** arguments) {
  if (count > 1) return lowest(0);
  for (int i = 0; i < 3; ++i) {
    pid_t child = fork();
    if (child == 0) {
      closefrom(0);
      char* again[] = {arguments[0], (char*)"x", NULL};
      if (i == 0) execv("/proc/self/exe", again);
      _exit(i == 0 ? 6 : lowest(i == 2));
    }
    printf("%d\n", wait_for(child));
  }
}
