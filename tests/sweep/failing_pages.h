/* failing_pages.h: what failing_pages.c, preloaded, offers to the programs that it sweeps. */
#ifndef TESTS_SWEEP_FAILING_PAGES_H
#define TESTS_SWEEP_FAILING_PAGES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Looks at a heap; does not return when it is not whole. Returns: bytes in use. */
typedef uint64_t sweep_check(void);

/* Effects: `check` is called when the process ends by exit or by abort, if no other thread is left then. */
void sweep_at_end(sweep_check* check);

/* Returns: bytes of mappings whose replacement by a fresh one was made to fail. */
uint64_t sweep_lost_bytes(void);

/* Effects: no request fails or counts from now on, until sweep_memory_is_short. */
void sweep_memory_is_back(void);
void sweep_memory_is_short(void);

#ifdef __cplusplus
}
#endif

#endif
