/* failing_pages.c: preloaded, makes the n-th request for pages fail, and looks at the heaps when the process ends.
 *
 * A request is what may be refused for lack of memory: mmap, mremap, mprotect to writable, madvise to populate. It
 * counts when the code that makes it lies in a file whose path contains SWEEP_CALLER: the heap's requests are swept,
 * not those of the C library or of the program beside it. Counted in each process from its first one; a child of fork
 * goes on where its parent was, a program that exec starts begins anew.
 *
 *   SWEEP_CALLER=text   whose requests count
 *   SWEEP_FAIL_AT=n     the n-th fails; SWEEP_FAIL_FROM=n: the n-th and all later ones, until the process ends
 *   SWEEP_REPORT=path   a file of at least sizeof(struct report) bytes that all processes of the run share
 *
 * The first request comes before the C library is set up: so system calls, and /proc for the environment and the
 * mappings. No lock is taken and nothing allocated: the caller holds the heap's locks. */
#define _GNU_SOURCE
#include "failing_pages.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* sweep.py reads the same fields in the same order. */
struct report {
  _Atomic uint64_t requests;     /* of the process that made most */
  _Atomic uint64_t failed;       /* requests that were made to fail, in all processes */
  _Atomic uint64_t checks;       /* heaps that were looked at when their process ended */
  _Atomic uint64_t bytes_in_use; /* of the heap in which most was, when its process exited */
};

static struct report own_report; /* where there is no file */
static struct report* report = &own_report;
static bool started;
enum { entry_max = 4096 };
static char caller[entry_max];
static uint64_t fail_at, fail_from;
static _Atomic uint64_t requests;
static _Atomic uint64_t failed_here;
static _Atomic uint64_t lost_bytes;
static atomic_bool stopped;

enum { checks_max = 16 };
static sweep_check* checks[checks_max];
static size_t check_count;
static void (*next_abort)(void);

/* ---- the system ------------------------------------------------------------------------------------- */

/* Effects: as `syscall`, which is one of the functions below: the heap makes its requests by it. */
static long call_system(long number, ...) {
  va_list more;
  va_start(more, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(more, long);
  va_end(more);
#ifdef __x86_64__
  register long fourth __asm__("r10") = a[3];
  register long fifth __asm__("r8") = a[4];
  register long sixth __asm__("r9") = a[5];
  long result = number;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
#else
  static long (*next)(long, ...);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "syscall");
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
#endif
}

/* ---- reading /proc ---------------------------------------------------------------------------------- */

struct reader {
  int file;
  size_t used, size;
  char buffer[4096];
};

static bool open_reader(struct reader* r, const char* path) {
  r->file = (int)call_system(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  r->used = r->size = 0;
  return r->file >= 0;
}
static void close_reader(struct reader* r) { call_system(SYS_close, r->file); }
/* Returns: whether there was one more text up to `end`, whose beginning is in `text` now. */
static bool next_text(struct reader* r, char end, char* text, size_t capacity) {
  size_t length = 0;
  for (;;) {
    if (r->used == r->size) {
      const long got = call_system(SYS_read, r->file, r->buffer, sizeof r->buffer);
      if (got <= 0) break;
      r->used = 0;
      r->size = (size_t)got;
    }
    const char c = r->buffer[r->used++];
    if (c == end) {
      text[length] = '\0';
      return true;
    }
    if (length + 1 < capacity) text[length++] = c;
  }
  text[length] = '\0';
  return length != 0;
}

/* ---- start ------------------------------------------------------------------------------------------ */

static const char* value_of(const char* entry, const char* name) {
  const size_t length = strlen(name);
  return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static void share_report(const char* path) {
  const int file = (int)call_system(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const shared = (void*)call_system(SYS_mmap, NULL, sizeof *report, PROT_READ | PROT_WRITE,
                                          MAP_SHARED, file, 0L);
  if (shared != MAP_FAILED) report = shared;
  call_system(SYS_close, file);
}

static void start(void) {
  if (started) return;
  started = true;
  struct reader r;
  if (!open_reader(&r, "/proc/self/environ")) return;
  char entry[entry_max];
  while (next_text(&r, '\0', entry, sizeof entry)) {
    const char* value;
    if ((value = value_of(entry, "SWEEP_CALLER")) != NULL) memcpy(caller, value, strlen(value) + 1);
    if ((value = value_of(entry, "SWEEP_FAIL_AT")) != NULL) fail_at = strtoull(value, NULL, 10);
    if ((value = value_of(entry, "SWEEP_FAIL_FROM")) != NULL) fail_from = strtoull(value, NULL, 10);
    if ((value = value_of(entry, "SWEEP_REPORT")) != NULL) share_report(value);
  }
  close_reader(&r);
}

/* ---- whose request ---------------------------------------------------------------------------------- */

struct span {
  uintptr_t begin, end;
};
enum { spans_max = 16 };
static struct span callers[spans_max];
static _Atomic size_t caller_count;

/* Effects: if `address` is code of a file that counts, remembers where it lies. Returns: whether it is. Two threads
 * may store the same span twice; a slot that is full is looked up again each time. */
static bool look_up(uintptr_t address) {
  struct reader r;
  if (caller[0] == '\0' || !open_reader(&r, "/proc/self/maps")) return false;
  bool counts = false;
  char line[1024];
  while (!counts && next_text(&r, '\n', line, sizeof line)) {
    char* rest;
    const struct span here = {strtoul(line, &rest, 16),
                              *rest == '-' ? strtoul(rest + 1, NULL, 16) : 0};
    if (address < here.begin || address >= here.end) continue;
    counts = strstr(line, caller) != NULL;
    if (!counts) break;
    const size_t slot = atomic_fetch_add(&caller_count, 1);
    if (slot < spans_max) callers[slot] = here;
  }
  close_reader(&r);
  return counts;
}

static bool counts(const void* return_address) {
  const uintptr_t address = (uintptr_t)return_address;
  for (size_t i = 0; i < spans_max; ++i)
    if (address >= callers[i].begin && address < callers[i].end) return true;
  return look_up(address);
}

/* Returns: whether this request is to fail; then errno says so. */
static bool fails(const void* return_address) {
  const int saved = errno;
  start();
  const bool ours = counts(return_address);
  errno = saved;
  if (!ours || atomic_load(&stopped)) return false;
  const uint64_t n = atomic_fetch_add(&requests, 1) + 1;
  uint64_t most = atomic_load(&report->requests);
  while (n > most && !atomic_compare_exchange_weak(&report->requests, &most, n)) {
  }
  if (n != fail_at && (fail_from == 0 || n < fail_from)) return false;
  atomic_fetch_add(&failed_here, 1);
  atomic_fetch_add(&report->failed, 1);
  errno = ENOMEM;
  return true;
}

/* ---- the calls -------------------------------------------------------------------------------------- */

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (fails(__builtin_return_address(0))) {
    if ((flags & MAP_FIXED) != 0) atomic_fetch_add(&lost_bytes, bytes);
    return MAP_FAILED;
  }
  return (void*)call_system(SYS_mmap, address, bytes, protection, flags, file, offset);
}

void* mremap(void* from, size_t before, size_t after, int flags, ...) {
  va_list more;
  va_start(more, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : NULL;
  va_end(more);
  if (fails(__builtin_return_address(0))) return MAP_FAILED;
  return (void*)call_system(SYS_mremap, from, before, after, flags, to);
}

int mprotect(void* address, size_t bytes, int protection) {
  if ((protection & PROT_WRITE) != 0 && fails(__builtin_return_address(0))) return -1;
  return (int)call_system(SYS_mprotect, address, bytes, protection);
}

int madvise(void* address, size_t bytes, int advice) {
#ifdef MADV_POPULATE_WRITE
  if (advice == MADV_POPULATE_WRITE && fails(__builtin_return_address(0))) return -1;
#endif
  return (int)call_system(SYS_madvise, address, bytes, advice);
}

/* The heap's requests. */
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(more, long);
  va_end(more);
  bool is_request = number == SYS_mmap || number == SYS_mremap ||
                    (number == SYS_mprotect && ((int)a[2] & PROT_WRITE) != 0);
#ifdef MADV_POPULATE_WRITE
  is_request = is_request || (number == SYS_madvise && (int)a[2] == MADV_POPULATE_WRITE);
#endif
  if (is_request && fails(__builtin_return_address(0))) {
    if (number == SYS_mmap && ((int)a[3] & MAP_FIXED) != 0)
      atomic_fetch_add(&lost_bytes, (uint64_t)a[1]);
    return -1;
  }
  return call_system(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- a crash ---------------------------------------------------------------------------------------- */

struct line {
  size_t used;
  char text[1200];
};
static void put(struct line* l, const char* text) {
  while (*text != '\0' && l->used < sizeof l->text) l->text[l->used++] = *text++;
}
static void put_hex(struct line* l, uintptr_t n) {
  char digits[2 * sizeof n + 1];
  size_t i = sizeof digits - 1;
  digits[i] = '\0';
  do digits[--i] = "0123456789abcdef"[n % 16];
  while ((n /= 16) != 0);
  put(l, digits + i);
}

/* Adds the file that `address` is code of, and where in it. */
static void put_place(struct line* l, uintptr_t address) {
  struct reader r;
  char text[1024];
  if (!open_reader(&r, "/proc/self/maps")) return;
  while (next_text(&r, '\n', text, sizeof text)) {
    char* rest; /* begin-end permissions offset device inode path */
    const uintptr_t begin = strtoul(text, &rest, 16);
    const uintptr_t end = *rest == '-' ? strtoul(rest + 1, &rest, 16) : 0;
    if (address < begin || address >= end || strlen(rest) < 6) continue;
    const uintptr_t offset = strtoul(rest + 6, NULL, 16);
    const char* const path = strchr(text, '/');
    put(l, path != NULL ? path : "?");
    put(l, "+");
    put_hex(l, address - begin + offset);
    close_reader(&r);
    return;
  }
  close_reader(&r);
  put(l, "nowhere+0");
}

/* A program may use the null that it was given, which is its own fault: sweep.py decides by this line. A function of
 * the C library that was handed the address keeps nothing on the stack, so its caller is what lies on top. */
static void tell_crash(int number, siginfo_t* info, void* context) {
  struct line l = {0, {0}};
  put(&l, "\ncrash: at address ");
  put_hex(&l, (uintptr_t)info->si_addr);
#ifdef __x86_64__
  const greg_t* const registers = ((const ucontext_t*)context)->uc_mcontext.gregs;
  put(&l, ", code ");
  put_place(&l, (uintptr_t)registers[REG_RIP]);
  put(&l, ", caller ");
  put_place(&l, *(const uintptr_t*)registers[REG_RSP]);
#else
  (void)context;
#endif
  put(&l, "\n");
  call_system(SYS_write, STDERR_FILENO, l.text, l.used);
  if (info->si_code == SI_USER) return; /* sweep.py only asks where it is */
  signal(number, SIG_DFL);              /* and the instruction crashes again */
}

/* ---- the end ---------------------------------------------------------------------------------------- */

void sweep_memory_is_back(void) { atomic_store(&stopped, true); }

void sweep_memory_is_short(void) { atomic_store(&stopped, false); }

uint64_t sweep_lost_bytes(void) { return atomic_load(&lost_bytes); }

void sweep_at_end(sweep_check* check) {
  if (check_count < checks_max) checks[check_count++] = check;
}

static bool is_only_thread(void) {
  struct reader r;
  if (!open_reader(&r, "/proc/self/status")) return false;
  char line[256];
  bool only = false;
  while (next_text(&r, '\n', line, sizeof line))
    if (strncmp(line, "Threads:", 8) == 0) only = strtoul(line + 8, NULL, 10) == 1;
  close_reader(&r);
  return only;
}

/* Another thread may be anywhere in the heap. */
static void check_heaps(bool at_exit) {
  if (!is_only_thread()) return;
  sweep_memory_is_back();
  const size_t count = check_count;
  check_count = 0; /* a check that aborts is not checked again */
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bytes = checks[i]();
    uint64_t most = atomic_load(&report->bytes_in_use);
    while (at_exit && bytes > most &&
           !atomic_compare_exchange_weak(&report->bytes_in_use, &most, bytes)) {
    }
    atomic_fetch_add(&report->checks, 1);
  }
}

__attribute__((constructor)) static void at_start(void) {
  start();
  *(void**)&next_abort = dlsym(RTLD_NEXT, "abort");
  const struct sigaction on_crash = {.sa_sigaction = tell_crash, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &on_crash, NULL);
}

__attribute__((destructor)) static void at_end(void) { check_heaps(true); }

/* A program that gives up for want of memory leaves a whole heap, too. */
void abort(void) {
  if (atomic_load(&failed_here) != 0) check_heaps(false);
  if (next_abort != NULL) next_abort();
  raise(SIGABRT);
  _exit(134);
}
