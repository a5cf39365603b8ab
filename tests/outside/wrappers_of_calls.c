// A program has its own functions before those of the C library that an allocator may call, those for pages too, as
// sanitizers and recorders do. Each allocates and frees before it passes the call on.
#include "outside.h"

static __thread int wrapper_depth;

static void wrapper_allocates(void) {
  if (wrapper_depth != 0) return;  // a wrapper is not called by itself
  ++wrapper_depth;
  static _Atomic size_t calls;
  const size_t n = calls++;
  char* volatile small = malloc(n % 500 + 1);
  char* volatile large = malloc(150000);
  small[0] = large[0] = 1;
  small = realloc(small, n % 3000 + 1);
  char* volatile zero = calloc(n % 90 + 1, 1);
  free(large);
  free(zero);
  free(small);
  --wrapper_depth;
}

#define NEXT(name)                                            \
  static __typeof__(&name) next;                              \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name); \
  wrapper_allocates()
// Defines the function `name` with these parameters: it passes the arguments on to the next one of its name.
#define WRAPPER(result, name, parameters, ...) \
  result name parameters {                     \
    NEXT(name);                                \
    return next(__VA_ARGS__);                  \
  }
// The same of a system call for pages, by its number: the C library's own may be a sanitizer's.
#define PAGE_WRAPPER(result, name, parameters, ...)  \
  result name parameters {                           \
    wrapper_allocates();                             \
    return (result)syscall(SYS_##name, __VA_ARGS__); \
  }

static void* wrapper_thread(void* p) {
  for (int i = 0; i < 3000; ++i) free(realloc(malloc((size_t)(i % 700)), (size_t)(i % 2000)));
  free(malloc(3000000));
  return p;
}

// Effects: calls malloc's family so that the heap asks the system for pages and gives them back.
static void wrapper_use_heap(void) {
  enum { count = 3000 };
  static char* block[count];
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < count; ++i)
      memset(block[i] = malloc((size_t)(i * 13 % 3000 + 1)), 1, (size_t)(i * 13 % 3000 + 1));
    for (int i = 0; i < count; ++i) free(block[i]);
    char* large = NULL;
    for (size_t bytes = 100000; bytes < 9000000; bytes *= 2)
      memset(large = realloc(large, bytes), 1, bytes);
    free(realloc(large, 200000));
  }
  pthread_t t;
  pthread_create(&t, NULL, wrapper_thread, NULL);
  pthread_join(t, NULL);
}

PAGE_WRAPPER(void*, mmap,
             (void* p, size_t bytes, int protection, int flags, int file, off_t offset), p, bytes,
             protection, flags, file, offset)
PAGE_WRAPPER(int, munmap, (void* p, size_t bytes), p, bytes)
PAGE_WRAPPER(int, mprotect, (void* p, size_t bytes, int protection), p, bytes, protection)
PAGE_WRAPPER(int, madvise, (void* p, size_t bytes, int advice), p, bytes, advice)
void* mremap(void* from, size_t before, size_t after, int flags, ...) {
  va_list more;
  va_start(more, flags);
  void* const to = va_arg(more, void*);
  va_end(more);
  wrapper_allocates();
  return (void*)syscall(SYS_mremap, from, before, after, flags, to);
}

// As torsocks has one: it looks for its settings when it is called first.
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(more, long);
  va_end(more);
  NEXT(syscall);
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

WRAPPER(ssize_t, write, (int file, const void* from, size_t bytes), file, from, bytes)
WRAPPER(ssize_t, read, (int file, void* to, size_t bytes), file, to, bytes)
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = va_arg(more, int);
  va_end(more);
  NEXT(open);
  return next(path, flags, mode);
}
WRAPPER(int, close, (int file), file)
WRAPPER(char*, getenv, (const char* name), name)
WRAPPER(int, pthread_key_create, (pthread_key_t * key, void (*end)(void*)), key, end)
WRAPPER(int, pthread_setspecific, (pthread_key_t key, const void* value), key, value)
WRAPPER(int, pthread_setcancelstate, (int state, int* before), state, before)
WRAPPER(int, pthread_create,
        (pthread_t * t, const pthread_attr_t* how, void* (*run)(void*), void* with), t, how, run,
        with)
WRAPPER(int, pthread_join, (pthread_t t, void** result), t, result)
WRAPPER(int, pthread_mutex_lock, (pthread_mutex_t * lock), lock)
WRAPPER(int, pthread_mutex_unlock, (pthread_mutex_t * lock), lock)
WRAPPER(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* before), how, set, before)
// What pthread_atfork calls.
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void*);
WRAPPER(int, __register_atfork,
        (void (*before)(void), void (*parent)(void), void (*child)(void), void* of), before, parent,
        child, of)
WRAPPER(int, sigaction, (int number, const struct sigaction* action, struct sigaction* before),
        number, action, before)
WRAPPER(int, poll, (struct pollfd * files, nfds_t count, int ms), files, count, ms)
WRAPPER(long, sysconf, (int name), name)
WRAPPER(ssize_t, getrandom, (void* to, size_t bytes, unsigned flags), to, bytes, flags)
WRAPPER(int, clock_gettime, (clockid_t clock, struct timespec* now), clock, now)
WRAPPER(int, nanosleep, (const struct timespec* time, struct timespec* rest), time, rest)
WRAPPER(int, getrlimit, (__rlimit_resource_t which, struct rlimit* limit), which, limit)
WRAPPER(int, sysinfo, (struct sysinfo * info), info)
WRAPPER(int, sched_getaffinity, (pid_t process, size_t bytes, cpu_set_t* set), process, bytes, set)
// libfaketime's reads the environment when it is called first.
pid_t getpid(void) {
  CHECK(environ != NULL);
  NEXT(getpid);
  return next();
}
WRAPPER(int, dl_iterate_phdr, (int (*visit)(struct dl_phdr_info*, size_t, void*), void* with),
        visit, with)
WRAPPER(int, dladdr, (const void* address, Dl_info* info), address, info)
WRAPPER(unsigned long, getauxval, (unsigned long type), type)

#ifdef __x86_64__
// As overlays of games have one: it calls the C library's, so what comes next is looked for behind the program.
void* dlsym(void* library, const char* name) {
  static void* (*next)(void*, const char*);
  if (next == NULL) *(void**)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  wrapper_allocates();
  return next(library, name);
}
#endif

int main(void) {
  wrapper_use_heap();
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  CHECK(dlsym(library, "cos") != NULL && prctl(PR_GET_DUMPABLE) == 1);
  CHECK(signal(SIGUSR2, SIG_IGN) == SIG_DFL);  // whose next one `ashlar run` looks for
  malloc_trim(0);
  const struct mallinfo2 figures = mallinfo2();
  malloc_stats();
  const pid_t child = fork();
  if (child == 0) {
    wrapper_use_heap();
    exit(0);
  }
  void* const mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%d %d %d\n", wait_for(child), munmap(mapped, 4096), figures.arena + figures.hblkhd != 0);
}
