// A fault of the heap in a sandbox that kills: the process ends by a signal, and does not hang.
#include "sandbox.h"

static const char* ended_by_signal(int full_pipe) {
  int pipes[2];
  if (pipe(pipes) != 0) return "no pipe";
  const pid_t c = fork();
  if (c == 0) {
    if (full_pipe) dup2(pipes[1], 2);
    sandbox_close(0);
    char* volatile block = malloc(40);
    char* volatile again = block;
    free(block);
    free(again);
    _exit(0);
  }
  int status = 0;
  waitpid(c, &status, 0);
  close(pipes[0]);
  close(pipes[1]);
  return WIFSIGNALED(status) ? "by a signal" : "otherwise";
}

int main(void) {
  printf("the child ended %s\n", ended_by_signal(0));
  printf("with standard error in a pipe: %s\n", ended_by_signal(1));
}
