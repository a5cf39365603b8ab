// compat/xlist.h: std::list on xmalloc's blocks.
// Layer: compat.
#ifndef ASHLAR_COMPAT_XLIST_H
#define ASHLAR_COMPAT_XLIST_H

#include <list>

#include "stl_allocator.h"

template <class T, class Alloc = stl_allocator<T>>
using xlist = std::list<T, Alloc>;

#endif
