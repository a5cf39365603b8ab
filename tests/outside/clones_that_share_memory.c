// clone(CLONE_VM) on a stack of malloc, as container runtimes do: the child writes to its parent's
// blocks and ends.
#include "outside.h"

static int child_body(void* p) {
  strcpy((char*)p, "written by the child");
  return 6;
}

int main(void) {
  begin_busy(1);
  for (int i = 0; i < 200; ++i) {
    char* stack = (char*)malloc(64 * 1024);
    char* text = (char*)calloc(1, 100);
    pid_t child = clone(child_body, stack + 64 * 1024 - 16,
                        CLONE_VM | (i % 2 ? CLONE_VFORK : 0) | SIGCHLD, text);
    use_heap((unsigned)i, 20);
    CHECK(wait_for(child) == 6 && strcmp(text, "written by the child") == 0);
    free(text);
    free(stack);
  }
  end_busy();
  puts("ok");
}
