// A program is started in a sandbox that refuses, with EPERM, what a container may refuse to each of its processes.
#include "sandbox.h"

static void* in_thread(void* p) { return sandbox_use_heap(3) == 0 ? p : NULL; }

int main(int argc, char** argv) {
  if (argc > 1) {
    pthread_t t;
    void* got = NULL;
    pthread_create(&t, 0, in_thread, &t);
    pthread_join(t, &got);
    const pid_t c = fork();
    if (c == 0) _exit(sandbox_use_heap(4));
    const int lived = sandbox_ended_well(c);
    printf("%d %d %d\n", sandbox_use_heap(2), got != NULL, lived);
    return 0;
  }
  static const int refused[] = {SYS_membarrier,      SYS_sysinfo,      SYS_sched_getaffinity,
                                SYS_prlimit64,       SYS_gettid,       SYS_mincore,
                                SYS_getrandom,       SYS_rt_sigaction, SYS_munlock,
                                SYS_rt_sigtimedwait, SYS_readlink,     SYS_getpid};
  struct sandbox_rules r = sandbox_begin();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
    sandbox_rule(&r, refused[i], SECCOMP_RET_ERRNO | EPERM);
  sandbox_install(&r, SECCOMP_RET_ALLOW, 0);
  execl("/proc/self/exe", "sandboxed", "1", (char*)0);
  return 9;
}
