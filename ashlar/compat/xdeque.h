// compat/xdeque.h: std::deque on xmalloc's blocks.
// Layer: compat.
// Its pieces are of one size (512 bytes with libstdc++, 4 KiB with libc++), which suits fixed
// blocks; the table that finds them is one block that doubles.
#ifndef ASHLAR_COMPAT_XDEQUE_H
#define ASHLAR_COMPAT_XDEQUE_H

#include <deque>

#include "stl_allocator.h"

template <class T, class Alloc = stl_allocator<T>>
using xdeque = std::deque<T, Alloc>;

#endif
