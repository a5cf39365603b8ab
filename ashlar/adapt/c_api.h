/* adapt/c_api.h: the C face of ashlar (C99 and C++).
 *
 * xmalloc and its family behave as the C standard's functions of the same name without the x, on
 * ashlar's process heap. Every function may be called from any thread at any time, from static
 * constructors and destructors too, unless it says otherwise. None may be called from a signal
 * handler that interrupted one of them. Sizes are bytes.
 *
 * A pointer that did not come from this family, or was freed already, given to xfree, xrealloc or
 * xusable_size ends in one line on standard error that names call and address, and abort(): at
 * once where the address is foreign, else at the latest when the block returns to its slab. With
 * ASHLAR_CHECK=1 in the environment at start every call is checked, and all are found at once.
 */
#ifndef ASHLAR_ADAPT_C_API_H
#define ASHLAR_ADAPT_C_API_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ashlar/core/stats.h>

#if defined(__GNUC__)
#define ASHLAR_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define ASHLAR_ATTRIBUTE(...)
#endif

#ifdef __cplusplus
extern "C" {
#define ASHLAR_NOEXCEPT noexcept
#else
#define ASHLAR_NOEXCEPT
#endif

/* ---- allocation -------------------------------------------------------------------------- */

/* Returns a block of at least `size` bytes aligned for any object of that size (16 bytes), or null
 * with errno ENOMEM. A size of 0 gives a block of its own. Amortised O(1). */
void* xmalloc(size_t size) ASHLAR_NOEXCEPT
    ASHLAR_ATTRIBUTE(malloc, alloc_size(1), warn_unused_result);

/* Gives a block back. Null does nothing. errno is kept. Amortised O(1). */
void xfree(void* block) ASHLAR_NOEXCEPT;

/* Changes a block's size; the first min(old, new) bytes are kept. Returns the block, perhaps
 * elsewhere, or null with errno ENOMEM and the old block untouched. xrealloc(0, n) is xmalloc(n);
 * xrealloc(p, 0) frees p and returns null (as glibc). In place where the block's class or the
 * memory behind it allows; large blocks move by remapping pages, not by copying. The alignment of
 * an aligned block is kept only up to 16 when it has to move. */
void* xrealloc(void* block, size_t size) ASHLAR_NOEXCEPT
    ASHLAR_ATTRIBUTE(alloc_size(2), warn_unused_result);

/* Returns a zeroed block for `count` objects of `size` bytes, or null with ENOMEM, also when the
 * product does not fit a size_t. Memory known to be zero is not cleared again. */
void* xcalloc(size_t count, size_t size) ASHLAR_NOEXCEPT
    ASHLAR_ATTRIBUTE(malloc, alloc_size(1, 2), warn_unused_result);

/* Returns a block whose address is a multiple of `alignment`, or null: with errno EINVAL when
 * `alignment` is not a power of two, ENOMEM when there is no memory. xfree gives it back. */
void* xaligned_alloc(size_t alignment, size_t size) ASHLAR_NOEXCEPT
    ASHLAR_ATTRIBUTE(malloc, alloc_size(2), warn_unused_result);

/* Returns how many bytes of the block the caller may use (>= what was asked for); 0 for null. */
size_t xusable_size(const void* block) ASHLAR_NOEXCEPT;

/* ---- lifetime ---------------------------------------------------------------------------- */

/* Both exist so that classic code compiles. The process heap starts at its first allocation and
 * lives as long as the process, so that static destructors may still use it: xalloc_init only makes
 * that first step early, xalloc_destroy gives free pages back to the system and ends nothing. */
void xalloc_init(void) ASHLAR_NOEXCEPT;
void xalloc_destroy(void) ASHLAR_NOEXCEPT;

/* Gives the calling thread's cache back to the heap and every fully free page to the system, now.
 * Returns the bytes that went back. O(slabs). */
size_t ashlar_trim(void) ASHLAR_NOEXCEPT;

/* From now on free pages go back to the system `delay_ms` after they became free (-1: never; default
 * 1000), but for `keep_bytes` of them (default 0). The environment's ASHLAR_PURGE_DELAY_MS and
 * ASHLAR_KEEP_BYTES set the same at start. A cache miss or a large free has to look: a process that
 * does not allocate keeps what it has until ashlar_trim. */
void ashlar_set_purge(int64_t delay_ms, size_t keep_bytes) ASHLAR_NOEXCEPT;

/* ---- statistics -------------------------------------------------------------------------- */

/* Fills `stats`. O(classes + threads); takes each class's lock in turn; allocates nothing. */
void ashlar_stats_get(struct ashlar_stats* stats) ASHLAR_NOEXCEPT;

enum ashlar_stats_format {
  ASHLAR_STATS_TEXT = 0,      /* a line per class that was used, and totals */
  ASHLAR_STATS_JSON = 1,      /* docs/statistics.md gives the schema */
  ASHLAR_STATS_PROMETHEUS = 2 /* text exposition format */
};

/* Writes the statistics to `stream`. Returns 0, or -1 with errno when writing failed. */
int ashlar_stats_write(FILE* stream, enum ashlar_stats_format format) ASHLAR_NOEXCEPT;

/* The classic report: the text form on standard output. */
void xalloc_stats(void) ASHLAR_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
