/* tests/attach/waits.c: waits for 4 seconds in the call of the system that its argument names, and says
 * what the call returned, its errno, and how long it took. Without an argument it names all calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 4, MS = SECONDS * 1000 };
static const struct timespec span = {SECONDS, 0};

static struct timespec after(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += SECONDS;
  return t;
}
static int own_epoll(void) { return epoll_create1(0); }
static void take_signal(int signal) { (void)signal; }
static void send_alarm(int flags) {
  const struct itimerval when = {{0, 0}, {SECONDS, 0}};
  struct sigaction how;
  memset(&how, 0, sizeof how);
  how.sa_handler = take_signal;
  how.sa_flags = flags;
  sigaction(SIGALRM, &how, NULL);
  setitimer(ITIMER_REAL, &when, NULL);
}
/* A child of this process does something when the time has come. */
static int pipe_of[2];
static pid_t child_that(void (*act)(void)) {
  const pid_t child = fork();
  if (child != 0) return child;
  while (nanosleep(&span, NULL) != 0) continue;
  act();
  _exit(0);
}
static void nothing(void) {}
static void write_pipe(void) {
  if (write(pipe_of[1], "x", 1) != 1) _exit(1);
}
static void read_pipe(void) {
  static char all[1 << 16];
  if (read(pipe_of[0], all, sizeof all) <= 0) _exit(1);
}
static int socket_with_timeout(void) {
  const struct timeval t = {SECONDS, 0};
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  if (setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) != 0 || listen(s, 1) != 0) exit(1);
  return s;
}

static struct {
  const char* name;
  long (*wait)(void);
} calls[32];
static size_t call_count;
#define CALL(called)                                            \
  static long by_##called(void);                                \
  __attribute__((constructor)) static void add_##called(void) { \
    calls[call_count].name = #called;                           \
    calls[call_count++].wait = by_##called;                     \
  }                                                             \
  static long by_##called(void)

/* ---- with a timeout ---- */
CALL(nanosleep) { return nanosleep(&span, NULL); }
CALL(clock_nanosleep) { return clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL); }
CALL(absolute_sleep) {
  const struct timespec t = after(CLOCK_MONOTONIC);
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}
CALL(poll) { return poll(NULL, 0, MS); }
CALL(ppoll) { return ppoll(NULL, 0, &span, NULL); }
CALL(select) {
  struct timeval t = {SECONDS, 0};
  return select(0, NULL, NULL, NULL, &t);
}
CALL(pselect) { return pselect(0, NULL, NULL, NULL, &span, NULL); }
CALL(epoll_wait) {
  struct epoll_event got;
  return epoll_wait(own_epoll(), &got, 1, MS);
}
CALL(epoll_pwait) {
  struct epoll_event got;
  sigset_t none;
  sigemptyset(&none);
  return epoll_pwait(own_epoll(), &got, 1, MS, &none);
}
CALL(sem_timedwait) {
  sem_t s;
  const struct timespec t = after(CLOCK_REALTIME);
  sem_init(&s, 0, 0);
  return sem_timedwait(&s, &t);
}
CALL(cond_timedwait) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  const struct timespec t = after(CLOCK_REALTIME);
  pthread_mutex_lock(&m);
  return pthread_cond_timedwait(&c, &m, &t);
}
CALL(relative_futex) {
  static uint32_t word;
  return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0);
}
CALL(sigtimedwait) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  sigprocmask(SIG_BLOCK, &one, NULL);
  return sigtimedwait(&one, NULL, &span);
}
CALL(recv_timeout) {
  int pair[2];
  char c;
  const struct timeval t = {SECONDS, 0};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
      setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) != 0)
    return -2;
  return recv(pair[0], &c, 1, 0);
}
CALL(accept_timeout) { return accept(socket_with_timeout(), NULL, NULL); }
CALL(semtimedop) {
  struct sembuf wait = {0, -1, 0};
  const int set = semget(IPC_PRIVATE, 1, 0600);
  const long result = semtimedop(set, &wait, 1, &span);
  const int error = errno;
  semctl(set, 0, IPC_RMID);
  errno = error;
  return result;
}
CALL(mq_timedreceive) {
  char name[64];
  char text[64];
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof text};
  const struct timespec t = after(CLOCK_REALTIME);
  snprintf(name, sizeof name, "/ashlar_waits_%d", (int)getpid());
  const mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
  mq_unlink(name);
  return mq_timedreceive(queue, text, sizeof text, NULL, &t);
}

/* ---- until something happens ---- */
CALL(read) {
  char c;
  child_that(write_pipe);
  return read(pipe_of[0], &c, 1);
}
CALL(write) {
  static char all[1 << 16];
  if (write(pipe_of[1], all, sizeof all) != sizeof all) return -2;
  child_that(read_pipe);
  return write(pipe_of[1], all, 1);
}
CALL(endless_poll) {
  struct pollfd p = {.fd = pipe_of[0], .events = POLLIN};
  child_that(write_pipe);
  return poll(&p, 1, -1);
}
CALL(endless_epoll) {
  struct epoll_event what = {.events = EPOLLIN};
  const int poller = own_epoll();
  epoll_ctl(poller, EPOLL_CTL_ADD, pipe_of[0], &what);
  child_that(write_pipe);
  return epoll_wait(poller, &what, 1, -1);
}
CALL(waitpid) {
  const pid_t child = child_that(nothing);
  return waitpid(child, NULL, 0) == child ? 0 : -1;
}
CALL(flock) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", memfd_create("lock", 0));
  const int mine = open(path, O_RDONLY);
  const pid_t child = fork();
  if (child == 0) {
    const int other = open(path, O_RDONLY);
    flock(other, LOCK_EX);
    write_pipe();
    while (nanosleep(&span, NULL) != 0) continue;
    _exit(0);
  }
  char c;
  if (read(pipe_of[0], &c, 1) != 1) return -2;
  return flock(mine, LOCK_EX);
}
static sem_t* shared;
static void post(void) { sem_post(shared); }
CALL(sem_wait) {
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sem_init(shared, 1, 0);
  child_that(post);
  return sem_wait(shared);
}
static void* sleep_once(void* none) {
  while (nanosleep(&span, NULL) != 0) continue;
  return none;
}
CALL(join) {
  pthread_t thread;
  pthread_create(&thread, NULL, sleep_once, NULL);
  return pthread_join(thread, NULL);
}
/* A signal ends these with EINTR. */
CALL(pause) {
  send_alarm(0);
  return pause();
}
CALL(sigsuspend) {
  sigset_t none;
  sigemptyset(&none);
  send_alarm(SA_RESTART);
  return sigsuspend(&none);
}
CALL(interrupted_epoll) {
  struct epoll_event got;
  send_alarm(SA_RESTART);
  return epoll_wait(own_epoll(), &got, 1, 10 * MS);
}
CALL(interrupted_sleep) {
  const struct timespec long_span = {10 * SECONDS, 0};
  send_alarm(SA_RESTART);
  return nanosleep(&long_span, NULL);
}

int main(int count, char** words) {
  for (size_t i = 0; i < call_count; ++i) {
    if (count < 2) puts(calls[i].name);
    if (count < 2 || strcmp(words[1], calls[i].name) != 0) continue;
    struct timespec begin;
    struct timespec end;
    if (pipe(pipe_of) != 0) return 1;
    puts("ready");
    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    errno = 0;
    const long result = calls[i].wait();
    const int error = errno;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double seconds =
        (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("%ld %d %.3f\n", result, error, seconds);
  }
  return 0;
}
