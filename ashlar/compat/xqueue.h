// compat/xqueue.h: std::queue whose container is a deque on xmalloc's blocks.
// Layer: compat. The second argument is an allocator, or a container: xqueue<T, xlist<T>> has nodes
// of one size, which suits static pools.
#ifndef ASHLAR_COMPAT_XQUEUE_H
#define ASHLAR_COMPAT_XQUEUE_H

#include <deque>
#include <queue>

#include "allocator_argument.h"
#include "stl_allocator.h"

template <class T, class Container = stl_allocator<T>>
using xqueue = std::queue<
    T,
    ashlar::compat::unless_allocator<
        Container, std::deque<T, ashlar::compat::allocator_among<T, Container, stl_allocator<T>>>>>;

#endif
