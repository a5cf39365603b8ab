/* adapt/c_api.h: the C face of ashlar (C99 and C++): xmalloc's family, and what the process heap
 * tells.
 *
 * Every function may be called from any thread at any time, from static constructors and
 * destructors too. None may be called from a signal handler that interrupted one of them, nor left
 * by a handler's siglongjmp; a handler that interrupted other code may do both. None is a
 * cancellation point, and no thread may be cancelled asynchronously inside one. A block goes back
 * to the copy of ashlar that it came from. A library that has a copy linked into it must not be
 * unloaded: -z nodelete (docs/reliability.md).
 */
#ifndef ASHLAR_ADAPT_C_API_H
#define ASHLAR_ADAPT_C_API_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ashlar/adapt/xmalloc.h>
#include <ashlar/core/fault_info.h>
#include <ashlar/core/stats.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ------------------------------------------------------------------------------ */

/* Gives the calling thread's cache back to the heap and every free page to the system, now: those
 * of slabs that still have blocks in use, too. Returns the bytes that went back. O(slabs). */
size_t ashlar_trim(void) ASHLAR_NOEXCEPT;

/* From now on free pages go back to the system `delay_ms` after they became free (-1: never;
 * default 1000), but for `keep_bytes` of them (default 0). The environment's ASHLAR_PURGE_DELAY_MS
 * and ASHLAR_KEEP_BYTES set the same at start. A cache miss or a large free has to look: a process
 * that does not allocate keeps what it has until ashlar_trim, unless ashlar_background is on. */
void ashlar_set_purge(int64_t delay_ms, size_t keep_bytes) ASHLAR_NOEXCEPT;

/* `on` is not 0: from now on a thread of the library gives free memory back as ashlar_set_purge
 * says, also when no thread of the program allocates, and at once while the process's control group
 * is short of memory. The environment's ASHLAR_BACKGROUND=1 does the same at start. The thread
 * starts when a thread allocates and the heap has 2 MiB. It sleeps without a timer when nothing is
 * left to give back. A child of fork starts its own. The thread ends before the process's last
 * thread does. It is for the process heap, not for heap instances, and it leaves threads' caches
 * alone. `on` is 0: the thread ends before the call returns, and none starts any more. Returns 1 if
 * this was on before, else 0. Errors: none. If the system refuses a thread, this is off from then
 * on, until the next call. */
int ashlar_background(int on) ASHLAR_NOEXCEPT;

/* Makes sure that `bytes` of free memory are there, in one piece and really in memory, together
 * with the caches of `threads` threads beside the calling one and all that the heap needs for
 * itself to cut the bytes into blocks of any size (some 3 % more, and up to 12 MiB;
 * heap/prefault_test.cpp). So much is kept from now on, whatever ashlar_set_purge said before.
 * Returns 0, or -1 with errno ENOMEM; what was got until then stays. O(bytes): the system clears
 * each page. */
int ashlar_prefault(size_t bytes, unsigned threads) ASHLAR_NOEXCEPT;

/* From now on the heap asks the system for nothing and gives nothing back, until ashlar_unseal: no
 * call of malloc, free and their kin makes a system call, but to wait for a lock that another
 * thread holds. What is free serves; where that does not fit, null is returned. A thread that
 * starts finds a cache if ashlar_prefault made one or another thread left one, else each of its
 * calls takes the heap's locks. After ashlar_prefault, and a program's first allocation in each
 * thread, there are no page faults either. */
void ashlar_seal(void) ASHLAR_NOEXCEPT;
void ashlar_unseal(void) ASHLAR_NOEXCEPT;

/* ---- a limit ------------------------------------------------------------------------------ */

/* From now on the heap holds no more than `bytes`: pages in use, and free pages that keep their
 * memory (committed_bytes of the statistics). 0: as much as there is. The environment's
 * ASHLAR_LIMIT=512M, or =90% of what the control group may have, does the same at start. A request
 * that would need more first makes the heap give back all that is free; then the function of
 * ashlar_on_limit is called; then malloc and its kin return null with errno ENOMEM, or, with
 * ASHLAR_LIMIT_ACTION=end, the process ends as by a fault, and its line names who holds most. Where
 * the heap holds more than `bytes` already, one line on standard error says so, and it gets nothing
 * until it holds less. Not counted: the heap's own tables, guarded blocks, samples, and heap
 * instances whose source is the system (docs/how-to/keep-within-a-limit.md). A child of fork has
 * the limit for itself.
 * Returns 0, or -1 with errno ENOTSUP beside a sanitizer. O(1), or as ashlar_trim where the heap
 * holds more. Thread-safe. */
int ashlar_limit(size_t bytes) ASHLAR_NOEXCEPT;

/* A program's function for its caches: it frees `bytes_to_drop`, or what it can. */
typedef void (*ashlar_limit_callback)(size_t bytes_to_drop, void* argument);

/* From now on `callback` is called with `argument`
 * - once each time that what the heap holds comes to `percent` of the limit (0: 80 %), after free
 *   pages have gone back;
 * - for each request that the limit would refuse. The request is tried again afterwards.
 * It runs in the thread whose call missed its cache, with no lock of the heap held, so it may
 * allocate and free; what it frees goes back to the system. A request in it that the limit refuses
 * gets null at once. Several threads may be in it at a time. It must not leave by longjmp or an
 * exception. Without a function, free pages go back at 80 % all the same. Null: none is called.
 * Returns 0, or -1 with errno: EINVAL for a percentage above 100, ENOTSUP beside a sanitizer. O(1).
 * Thread-safe, but for two calls of it at one time; a thread may be in the last function yet. */
int ashlar_on_limit(ashlar_limit_callback callback, void* argument,
                    unsigned percent) ASHLAR_NOEXCEPT;

/* ---- statistics -------------------------------------------------------------------------- */

/* Fills `stats`. O(classes + threads); takes each class's lock in turn; allocates nothing. */
void ashlar_stats_get(struct ashlar_stats* stats) ASHLAR_NOEXCEPT;

enum ashlar_stats_format {
  ASHLAR_STATS_TEXT = 0,      /* a line per class that was used, and totals */
  ASHLAR_STATS_JSON = 1,      /* docs/statistics.md gives the schema */
  ASHLAR_STATS_PROMETHEUS = 2 /* text exposition format */
};

/* Writes the statistics to `stream`. JSON and Prometheus's text have the heap instances with a
 * name, too, and use them for that: a heap's page source must not ask for these, nor a fault's
 * callback. Returns 0, or -1 with errno when writing failed. */
int ashlar_stats_write(FILE* stream, enum ashlar_stats_format format) ASHLAR_NOEXCEPT;

/* ---- faults ------------------------------------------------------------------------------ */

/* What follows the report of a fault (docs/checks.md). */
enum ashlar_fault_action {
  ASHLAR_FAULT_ABORT = 0,    /* the process aborts: the default */
  ASHLAR_FAULT_CONTINUE = 1, /* the call does nothing, and the process goes on */
  ASHLAR_FAULT_TRAP = 2,     /* a trap instruction, where a debugger stops */
  ASHLAR_FAULT_CALLBACK = 3  /* the program's function, then as ASHLAR_FAULT_CONTINUE */
};

/* A program's function for faults. It runs in the thread that made the mistake, after the report
 * was written; several threads may be in it at once. It may allocate and free by malloc and its
 * kin. It must not fork, nor leave by longjmp or an exception, nor use a heap instance whose call
 * it interrupts. A fault inside it aborts. For a refused access to memory it runs in a signal's
 * handler. */
typedef void (*ashlar_fault_callback)(const struct ashlar_fault_info* what);

/* From now on a fault of the process heap or of a heap instance, in any thread, is followed by
 * `action` instead of what the environment's ASHLAR_FAULT says. What cannot go on aborts
 * nevertheless: a broken invariant, a refused access to memory, and faults of pools and arenas.
 * `callback` is needed for ASHLAR_FAULT_CALLBACK; for the other actions it is ignored. Returns 0,
 * or -1 with errno EINVAL and nothing changed: another action, or no function where one is needed.
 * O(1). Thread-safe. */
int ashlar_on_fault(int action, ashlar_fault_callback callback) ASHLAR_NOEXCEPT;

/* ---- checks ------------------------------------------------------------------------------ */

/* Where the environment says ASHLAR_CHECK=full or ASHLAR_CHECK_GUARD (docs/checks.md): looks at the
 * guard bytes and patterns of the blocks that have them, in use and freed, and ends in a fault at
 * the first that was written to. Returns how many of them are in use; 0, and looks at nothing,
 * without these checks. O(bytes in use). */
size_t ashlar_check_blocks(void) ASHLAR_NOEXCEPT;

/* Writes what is in use now, as text or JSON: by the place that allocated it, most bytes first,
 * with ASHLAR_CHECK=full; else by class. What is still reachable counts too: call it where all
 * should be gone. Returns 0, or -1 with errno: EINVAL for another format, else when writing
 * failed. */
int ashlar_leaks_write(FILE* stream, enum ashlar_stats_format format) ASHLAR_NOEXCEPT;

/* ---- sampling ---------------------------------------------------------------------------- */

/* From now on one of `every_bytes` that any thread allocates is sampled, with its call stack; 0:
 * none is any more, and what was sampled stays known. docs/how-to/profile-a-service.md says what
 * 524288 costs. The environment's ASHLAR_SAMPLE does the same at start. Only the drop-in library
 * samples: it serves this call wherever it is loaded before libashlar. Returns 0, or -1 with errno:
 * ENOTSUP in libashlar and beside a sanitizer, ENOMEM. O(1). Thread-safe. */
int ashlar_sample(size_t every_bytes) ASHLAR_NOEXCEPT;

/* Writes what the samples say now to the file at `path`, as a profile that `go tool pprof` opens:
 * for each call stack the blocks and bytes that it has allocated, those that are live, and how long
 * they lived. The file is whole whenever another process reads it. Returns 0, or -1 with errno:
 * ENOTSUP in libashlar, EINVAL where sampling was never on, else why the file could not be written.
 * O(call stacks). Thread-safe. */
int ashlar_sample_write(const char* path) ASHLAR_NOEXCEPT;

/* ---- control ----------------------------------------------------------------------------- */

/* Opens the socket through which `ashlar ctl` of the same user, or of root, talks to
 * this process (docs/how-to/look-at-a-running-service.md). `where` is one of these:
 * - "1": PID.sock in the folder ashlar of XDG_RUNTIME_DIR, or in /tmp/ashlar-UID;
 * - a path with a / in it, of which each %p becomes the number of the process;
 * - "0": the socket is closed.
 * A socket that was open is closed before. The environment's ASHLAR_CONTROL does the same at the
 * start. A thread of the library serves the socket, and sleeps while nobody asks. A child of fork
 * opens its own when an allocation misses its thread's cache.
 * Returns 0, or -1 with errno; then there is no socket. EINVAL: another word. EACCES: others may
 * enter the folder. EADDRINUSE: another process has the path. EEXIST: a file is there. EAGAIN: no
 * thread.
 * EPERM: the heap is sealed. ENOTSUP: no Linux. Else what the system says. The call may wait for
 * the thread for some seconds. Thread-safe. */
int ashlar_control(const char* where) ASHLAR_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
