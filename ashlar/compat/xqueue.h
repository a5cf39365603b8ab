// compat/xqueue.h: std::queue whose container is a list on xmalloc's blocks.
// Layer: compat.
// A list, because its nodes are equal blocks; a deque's table is not.
#ifndef ASHLAR_COMPAT_XQUEUE_H
#define ASHLAR_COMPAT_XQUEUE_H

#include <queue>

#include "stl_allocator.h"
#include "xlist.h"

template <class T, class Container = xlist<T>>
using xqueue = std::queue<T, Container>;

#endif
