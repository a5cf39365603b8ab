// Signals of the process reach the thread that waits for them, whoever else there is: sigwait,
// signalfd, a timer's signal.
#include "outside.h"

static void* busy(void* p) {
  for (unsigned i = 0; i < 100; ++i) use_heap(i, 50);
  return p;
}

int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGALRM);
  sigaddset(&set, SIGCHLD);
  use_heap(1, 500);
  pthread_sigmask(SIG_BLOCK, &set, NULL);  // whatever was there before main does not have it
  pthread_t t;
  CHECK(pthread_create(&t, NULL, busy, NULL) == 0);
  int got = 0, s;
  for (int i = 0; i < 20; ++i) {
    kill(getpid(), SIGUSR1);
    CHECK(sigwait(&set, &s) == 0);
    got += s == SIGUSR1;
    free(malloc(1000));
  }
  struct itimerval each_ms = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &each_ms, NULL);
  for (int i = 0; i < 20; ++i) CHECK(sigwait(&set, &s) == 0), got += s == SIGALRM;
  setitimer(ITIMER_REAL, &none, NULL);
  struct timespec now = {0, 0};
  while (sigtimedwait(&set, NULL, &now) > 0) {
  }
  int fd = signalfd(-1, &set, SFD_CLOEXEC);
  pid_t child = fork();
  if (child == 0) use_heap(2, 100), _exit(0);
  struct signalfd_siginfo info;
  CHECK(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGCHLD);
  CHECK(wait_for(child) == 0);
  pthread_join(t, NULL);
  printf("%d\n", got);
}
