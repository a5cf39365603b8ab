// Static pools as firmware compiles them: freestanding, one thread, faults and reports its own business.
// Compiled only; its symbols are read.
#include "xallocator_static_pools.h"

XALLOCATOR_STATIC_POOLS(ashlar::blocks<16, 64>, ashlar::blocks<396, 20>, ashlar::blocks<768, 10>,
                        ashlar::no_lock);

struct message {
  XALLOCATOR
  char text[300];
};

void* use() {
  xfree(xrealloc(xmalloc(8), 300));
  return new (std::nothrow) message;
}
