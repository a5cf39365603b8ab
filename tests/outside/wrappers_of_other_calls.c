// A program has its own functions before those of the C library that an allocator may call, as sanitizers and recorders
// do, and each allocates.
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>

#include "wrappers.h"

ssize_t write(int file, const void* from, size_t bytes) {
  WRAPPER_NEXT(write);
  return next(file, from, bytes);
}
ssize_t read(int file, void* to, size_t bytes) {
  WRAPPER_NEXT(read);
  return next(file, to, bytes);
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = va_arg(more, int);
  va_end(more);
  WRAPPER_NEXT(open);
  return next(path, flags, mode);
}
int close(int file) {
  WRAPPER_NEXT(close);
  return next(file);
}
char* getenv(const char* name) {
  WRAPPER_NEXT(getenv);
  return next(name);
}
int pthread_key_create(pthread_key_t* key, void (*end)(void*)) {
  WRAPPER_NEXT(pthread_key_create);
  return next(key, end);
}
int pthread_setspecific(pthread_key_t key, const void* value) {
  WRAPPER_NEXT(pthread_setspecific);
  return next(key, value);
}
int pthread_setcancelstate(int state, int* before) {
  WRAPPER_NEXT(pthread_setcancelstate);
  return next(state, before);
}
int pthread_create(pthread_t* t, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  WRAPPER_NEXT(pthread_create);
  return next(t, how, run, with);
}
int pthread_join(pthread_t t, void** result) {
  WRAPPER_NEXT(pthread_join);
  return next(t, result);
}
int pthread_mutex_lock(pthread_mutex_t* lock) {
  WRAPPER_NEXT(pthread_mutex_lock);
  return next(lock);
}
int pthread_mutex_unlock(pthread_mutex_t* lock) {
  WRAPPER_NEXT(pthread_mutex_unlock);
  return next(lock);
}
int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  WRAPPER_NEXT(pthread_sigmask);
  return next(how, set, before);
}
// What pthread_atfork calls.
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void*);
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void* of) {
  WRAPPER_NEXT(__register_atfork);
  return next(before, parent, child, of);
}
int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  WRAPPER_NEXT(sigaction);
  return next(number, action, before);
}
int poll(struct pollfd* files, nfds_t count, int ms) {
  WRAPPER_NEXT(poll);
  return next(files, count, ms);
}
long sysconf(int name) {
  WRAPPER_NEXT(sysconf);
  return next(name);
}
ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  WRAPPER_NEXT(getrandom);
  return next(to, bytes, flags);
}
int clock_gettime(clockid_t clock, struct timespec* now) {
  WRAPPER_NEXT(clock_gettime);
  return next(clock, now);
}
int nanosleep(const struct timespec* time, struct timespec* rest) {
  WRAPPER_NEXT(nanosleep);
  return next(time, rest);
}
int getrlimit(__rlimit_resource_t which, struct rlimit* limit) {
  WRAPPER_NEXT(getrlimit);
  return next(which, limit);
}
int sysinfo(struct sysinfo* info) {
  WRAPPER_NEXT(sysinfo);
  return next(info);
}
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t* set) {
  WRAPPER_NEXT(sched_getaffinity);
  return next(process, bytes, set);
}
pid_t getpid(void) {
  WRAPPER_NEXT(getpid);
  return next();
}
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info*, size_t, void*), void* with) {
  WRAPPER_NEXT(dl_iterate_phdr);
  return next(visit, with);
}
int dladdr(const void* address, Dl_info* info) {
  WRAPPER_NEXT(dladdr);
  return next(address, info);
}
unsigned long getauxval(unsigned long type) {
  WRAPPER_NEXT(getauxval);
  return next(type);
}

int main(void) {
  wrapper_use_heap();
  malloc_trim(0);
  const struct mallinfo2 figures = mallinfo2();
  malloc_stats();
  const pid_t child = fork();
  if (child == 0) {
    wrapper_use_heap();
    exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  printf("%d %d\n", status, figures.arena + figures.hblkhd != 0);
}
