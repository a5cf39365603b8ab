// unshare of users, mounts and processes asks for a process of one thread; the child is process 1
// and allocates.
// Editions: default full guarded hardened samples
#include "outside.h"

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    use_heap(1, 500);
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(77);
    use_heap(2, 500);
    pid_t first = fork();
    if (first == 0) {
      pthread_t t;
      CHECK(getpid() == 1 && pthread_create(&t, NULL, use_heap_in_thread, NULL) == 0);
      pthread_join(t, NULL);
      pid_t second = fork();
      if (second == 0) use_heap(3, 100), _exit(2);
      _exit(wait_for(second) + 1);
    }
    _exit(wait_for(first));
  }
  int status = wait_for(child);
  if (status == 77) return 77;
  printf("%d\n", status);
}
