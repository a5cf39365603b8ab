// compat/xallocator_static_pools.h: xallocator's STATIC_POOLS mode. C++20; for one source file of a
// program.
//
//   #include "xallocator_static_pools.h"
//   XALLOCATOR_STATIC_POOLS(ashlar::blocks<16, 64>, ashlar::blocks<64, 32>,
//                           ashlar::blocks<396, 20>, ashlar::blocks<768, 10>);
//
// From then on xmalloc, xfree, xrealloc, xalloc_stats and their kin, and every class with
// XALLOCATOR, are served from these blocks and from nothing else, in all files of the program, C
// ones too. The rest of the program does not change. The blocks are static storage (.bss) and ready
// before the first static constructor; no heap is ever called.
//
// Sizes are what a caller may use, small to large: there is no header to add. Blocks are aligned to
// 16 bytes: 396 takes 400. A request gets the smallest size that has a block left
// (ashlar::spill::never: the smallest that fits, or none); one above the largest size is null with
// errno ENOMEM, as is exhaustion.
//
// More arguments, in any order (ashlar/pool/pool_set.hpp):
//   ashlar::exhaustion::handler_and_retry<>  calls the std::new_handler until there is a block
//   ashlar::exhaustion::null                 calls no handler
//   ashlar::no_lock                          one thread
//   ashlar::user_locks                       the program's lock_init, lock_get, lock_release and
//                                            lock_destroy (<ashlar/compat/user_locks.hpp>)
//   ashlar::check::full<>, ...               more checks
// By default the new_handler is called once, and the request tried once more. Where there is none,
// or it throws, xmalloc is null: C cannot be thrown through. A class with XALLOCATOR throws
// bad_alloc anyway. The lock is ashlar::os::mutex; foreign, interior and double frees are found.
//
// Firmware without libashlar gives a lock policy and defines ashlar_fault and xalloc_stats_line.
#pragma once

#if __cplusplus < 202002L
#error "xallocator_static_pools.h needs C++20: compile this file with -std=c++20"
#include "-std=c++20"  // is not there: the compiler stops
#elif defined(ASHLAR_DOCUMENT_POOLS)
#error "STATIC_POOLS: include xallocator_static_pools.h before xallocator.h in this file"
#else

#define ASHLAR_OWN_POOLS /* so STATIC_POOLS defines no others in this file */

#include <ashlar/compat/user_locks.hpp>
#include <ashlar/compat/xmalloc_pools.hpp>

#include "xallocator.h"

#define XALLOCATOR_STATIC_POOLS(...) \
  ASHLAR_DEFINE_XMALLOC(::ashlar::static_xmalloc __VA_OPT__(, ) __VA_ARGS__)

#endif
