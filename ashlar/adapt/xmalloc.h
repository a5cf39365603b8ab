/* adapt/xmalloc.h: xmalloc and its family, and nothing else (C99 and C++; needs <stddef.h> only).
 *
 * xmalloc and its family behave as the C standard's functions of the same name without the x. Who
 * serves them is the program's choice, taken at link time:
 *   the process heap     libashlar's definitions; nothing has to be written
 *   the program's pools  one source file of the program defines all of the family (compat/
 *                        xallocator_static_pools.h, xallocator_heap_blocks.h); its definitions win,
 *                        since libashlar keeps its own in an object file of their own
 * What is said below of the process heap is said there of the pools.
 *
 * Every function may be called from any thread at any time, from static constructors and
 * destructors too, unless it says otherwise. None may be called from a signal handler that
 * interrupted one of them. Sizes are bytes.
 *
 * A pointer that did not come from this family, or was freed already, given to xfree, xrealloc or
 * xusable_size ends in one line on standard error that names call and address, and abort(): at
 * once where the address is foreign, else at the latest when the block returns to its slab. With
 * ASHLAR_CHECK=1 in the environment at start every call is checked, and all are found at once.
 */
#ifndef ASHLAR_ADAPT_XMALLOC_H
#define ASHLAR_ADAPT_XMALLOC_H

#include <stddef.h>

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
void* xmalloc(size_t size) ASHLAR_NOEXCEPT ASHLAR_ATTRIBUTE(malloc, alloc_size(1));

/* Gives a block back. Null does nothing. errno is kept. Amortised O(1). */
void xfree(void* block) ASHLAR_NOEXCEPT;
/* The same for a face of another name: a fault names `call`, which stays valid. */
void xfree_as(void* block, const char* call) ASHLAR_NOEXCEPT;

/* Changes a block's size; the first min(old, new) bytes are kept. Returns the block, perhaps
 * elsewhere, or null with errno ENOMEM and the old block untouched. xrealloc(0, n) is xmalloc(n);
 * xrealloc(p, 0) frees p and returns null (as glibc). In place where the block's class or the
 * memory behind it allows; large blocks move by remapping pages, not by copying. The alignment of
 * an aligned block is kept only up to 16 when it has to move. */
void* xrealloc(void* block, size_t size) ASHLAR_NOEXCEPT ASHLAR_ATTRIBUTE(alloc_size(2));

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

/* Returns 1 if xmalloc calls the std::new_handler by itself before it returns null: static pools
 * do, once, and then try again once. Returns 0 if that is left to C++ callers, who follow operator
 * new's protocol: on the process heap and with heap blocks. */
int xalloc_asks_handler(void) ASHLAR_NOEXCEPT;

/* ---- lifetime ---------------------------------------------------------------------------- */

/* Both exist so that classic code compiles. The process heap starts at its first allocation and
 * lives as long as the process, so that static destructors may still use it: xalloc_init only makes
 * that first step early, xalloc_destroy gives free pages back to the system and ends nothing. */
void xalloc_init(void) ASHLAR_NOEXCEPT;
void xalloc_destroy(void) ASHLAR_NOEXCEPT;

/* The classic report: a line for each block size that this family was asked for, with the blocks
 * that it created and those in use. Exact for the calling thread and for threads that have ended; a
 * note tells how much the free blocks of running threads can make of it. O(classes).
 * (adapt/c_api.h's ashlar_stats_write tells of all of the process heap.) */
void xalloc_stats(void) ASHLAR_NOEXCEPT;

/* Where the report goes: called with each line, its newline included, while no lock is held.
 * libashlar's writes to std::cout in a program that has it, else to standard output. A program may
 * define its own, and firmware without libashlar has to. */
void xalloc_stats_line(const char* line, size_t length) ASHLAR_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
