// The program's pools: growing from the process heap.
#include "xallocator_heap_blocks.h"

XALLOCATOR_HEAP_BLOCKS(ashlar::blocks<16, 4>, ashlar::blocks<144, 2>, ashlar::blocks<396, 2>);
