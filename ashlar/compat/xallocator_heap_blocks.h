// compat/xallocator_heap_blocks.h: xallocator's heap-blocks mode with sizes chosen by the program. C++20;
// for one source file of a program.
//
//   #include "xallocator_heap_blocks.h"
//   XALLOCATOR_HEAP_BLOCKS(ashlar::blocks<64, 32>, ashlar::blocks<396, 20>, ashlar::blocks<768, 10>);
//
// As xallocator_static_pools.h, but each size grows without limit: the count is that of its first slab,
// which comes from the process heap when the first block is asked for, and the blocks are recycled, never
// given back. A request above the largest size is the process heap's own, so no size fails for its size.
// More arguments: as there, and a page source in place of the process heap. There is no spill: a block
// comes from the smallest size that fits.
//
// Where the sizes need no tuning, the default mode needs no file like this, is faster (a cache a thread)
// and gives memory back.
#pragma once

#if __cplusplus < 202002L
#error "xallocator_heap_blocks.h needs C++20: compile this file with -std=c++20"
#elif defined(STATIC_POOLS)
#error \
    "STATIC_POOLS is defined, and XALLOCATOR_HEAP_BLOCKS would use the heap: write XALLOCATOR_STATIC_POOLS, or undefine STATIC_POOLS"
#else

#include <ashlar/adapt/user_locks.hpp>
#include <ashlar/adapt/xmalloc_heap_blocks.hpp>

#include "xallocator.h"

#define XALLOCATOR_HEAP_BLOCKS(...) \
  ASHLAR_DEFINE_XMALLOC(::ashlar::heap_blocks_xmalloc __VA_OPT__(, ) __VA_ARGS__)

#endif
