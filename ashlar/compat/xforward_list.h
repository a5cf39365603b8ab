// compat/xforward_list.h: std::forward_list on xmalloc's blocks.
// Layer: compat.
#ifndef ASHLAR_COMPAT_XFORWARD_LIST_H
#define ASHLAR_COMPAT_XFORWARD_LIST_H

#include <forward_list>

#include "stl_allocator.h"

template <class T, class Alloc = stl_allocator<T>>
using xforward_list = std::forward_list<T, Alloc>;

#endif
