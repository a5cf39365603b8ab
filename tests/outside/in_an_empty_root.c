// chroot to an empty folder, then another user without rights, not dumpable: no /proc, no /sys,
// nothing to read.
#include "outside.h"

static void* body(void* p) {
  use_heap(4, 1000);
  return strdup("of a thread");
}

int main(void) {
  char name[] = "/tmp/empty_XXXXXX";
  if (mkdtemp(name) == NULL) return 77;
  pid_t child = fork();
  if (child == 0) {
    if (chroot(name) != 0 || chdir("/") != 0) _exit(77);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(77);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (int i = 0; i < 5; ++i) {
      pthread_t t;
      void* text;
      use_heap((unsigned)i, 5000);
      CHECK(pthread_create(&t, NULL, body, NULL) == 0 && pthread_join(t, &text) == 0);
      free(text);
      char* large = (char*)realloc(calloc(1, 20 << 20), 60 << 20);
      CHECK(large != NULL && large[20 << 20 >> 1] == 0);
      free(large);
      malloc_trim(0);
      mallinfo2();
      CHECK_CHILD(6, use_heap(6, 100));
    }
    _exit(5);
  }
  int status = wait_for(child);
  rmdir(name);
  if (status == 77) return 77;
  printf("%d\n", status);
}
