/* ashlar/ashlar.h: the C face of ashlar (C99 and C++).
 *
 * xmalloc and its family behave as the C standard's functions of the same name without the x, on
 * ashlar's process heap. Every function may be called from any thread at any time, from static
 * constructors and destructors too, unless it says otherwise. None may be called from a signal
 * handler that interrupted one of them. Sizes are bytes.
 *
 * A pointer that did not come from this family, or was freed already, given to xfree, xrealloc or
 * xusable_size ends in one line on standard error that names call and address, and abort(): at
 * once where the address is foreign, else at the latest when the block returns to its slab.
 */
#ifndef ASHLAR_ASHLAR_H
#define ASHLAR_ASHLAR_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
void* xmalloc(size_t size) ASHLAR_NOEXCEPT ASHLAR_ATTRIBUTE(malloc, alloc_size(1), warn_unused_result);

/* Gives a block back. Null does nothing. errno is kept. Amortised O(1). */
void xfree(void* block) ASHLAR_NOEXCEPT;

/* Changes a block's size; the first min(old, new) bytes are kept. Returns the block, perhaps
 * elsewhere, or null with errno ENOMEM and the old block untouched. xrealloc(0, n) is xmalloc(n);
 * xrealloc(p, 0) frees p and returns null (as glibc). In place where the block's class or the memory
 * behind it allows; large blocks move by remapping pages, not by copying. The alignment of an
 * aligned block is kept only up to 16 when it has to move. */
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

/* ---- statistics -------------------------------------------------------------------------- */

/* Counting costs nothing on the hit path. At ASHLAR_ACCURACY_BATCH (the default) blocks that sit in
 * the caches of *other* threads count as in use, allocations and frees that a thread's cache served
 * by itself are not seen, and slack is an upper bound. At ASHLAR_ACCURACY_EXACT (environment
 * ASHLAR_STATS=exact at start) every call is counted, at the price of the hit path. */
enum ashlar_accuracy { ASHLAR_ACCURACY_BATCH = 0, ASHLAR_ACCURACY_EXACT = 1 };

/* One size class, or everything above the classes ("large", block_size 0). */
struct ashlar_class_stats {
  uint64_t block_size;      /* bytes; 0 for large blocks, which have no common size */
  uint64_t blocks_made;     /* most blocks that ever existed at once, free ones included */
  uint64_t blocks_in_use;   /* with a caller now */
  uint64_t peak_in_use;     /* most that ever were; at batch accuracy with cached ones */
  uint64_t allocations;     /* at batch accuracy: those that left the central heap */
  uint64_t frees;           /* allocations - frees == blocks_in_use */
  uint64_t slack_bytes;     /* block bytes beyond what was asked for, of blocks in use */
  uint64_t slabs;           /* slabs (large: runs) that exist now */
  uint64_t committed_bytes; /* their bytes */
};

struct ashlar_total_stats {
  uint64_t accuracy;              /* enum ashlar_accuracy */
  uint64_t bytes_in_use;          /* block sizes of all blocks in use */
  uint64_t peak_bytes_in_use;     /* its peak, seen at batch level */
  uint64_t allocations, frees, slack_bytes;
  uint64_t reserved_bytes;        /* address space */
  uint64_t committed_bytes;       /* of it, backed by memory or ready to be */
  uint64_t peak_committed_bytes;
  uint64_t resident_bytes;        /* of the whole process, from the system; 0 where unknown */
  uint64_t given_back_bytes;      /* returned to the system since the start, summed */
  uint64_t metadata_bytes;        /* ashlar's own tables, bitmaps and caches, committed */
  uint64_t threads;               /* thread caches that exist */
};

#define ASHLAR_MAX_CLASSES 96

/* All figures at one moment; consistent per class, not across classes while other threads run. */
struct ashlar_stats {
  struct ashlar_total_stats total;
  struct ashlar_class_stats large;
  uint32_t class_count;
  struct ashlar_class_stats classes[ASHLAR_MAX_CLASSES];
};

/* Fills `stats`. O(classes + threads); takes each class's lock in turn; allocates nothing. */
void ashlar_stats_get(struct ashlar_stats* stats) ASHLAR_NOEXCEPT;

enum ashlar_stats_format {
  ASHLAR_STATS_TEXT = 0,       /* a line per class that was used, and totals */
  ASHLAR_STATS_JSON = 1,       /* docs/statistics.md gives the schema */
  ASHLAR_STATS_PROMETHEUS = 2  /* text exposition format */
};

/* Writes the statistics to `stream`. Returns 0, or -1 with errno when writing failed. */
int ashlar_stats_write(FILE* stream, enum ashlar_stats_format format) ASHLAR_NOEXCEPT;

/* The classic report: the text form on standard output. */
void xalloc_stats(void) ASHLAR_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
