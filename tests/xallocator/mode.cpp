// The program's pools, of one mode: growing from the process heap; static, with the program's own
// lock (user_locks.c) or with the default one.
#if defined(MODE_HEAP_BLOCKS)
#include "xallocator_heap_blocks.h"

XALLOCATOR_HEAP_BLOCKS(ashlar::blocks<16, 4>, ashlar::blocks<144, 2>, ashlar::blocks<396, 2>);
#else
#include "xallocator_static_pools.h"

#if defined(MODE_USER_LOCKS)
using own_lock = ashlar::user_locks;
#else
using own_lock = ashlar::os::mutex;
#endif
XALLOCATOR_STATIC_POOLS(ashlar::blocks<16, 40>, ashlar::blocks<144, 40>, ashlar::blocks<396, 40>,
                        ashlar::blocks<768, 10>, own_lock);
#endif
