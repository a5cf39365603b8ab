// The program's pools: static, with the program's own lock (user_locks.c).
#include "xallocator_static_pools.h"

XALLOCATOR_STATIC_POOLS(ashlar::blocks<16, 40>, ashlar::blocks<144, 40>, ashlar::blocks<396, 40>,
                        ashlar::blocks<768, 10>, ashlar::user_locks);
