// compat/xvector.h: std::vector on xmalloc's blocks.
// Layer: compat.
// Where the process heap serves xmalloc a vector is as good on it as anywhere. With static pools it
// is not what they are for: each growth asks for a larger block while the old one is held, and the
// last needs one block for everything. There: reserve() once, no more than the largest block holds.
#ifndef ASHLAR_COMPAT_XVECTOR_H
#define ASHLAR_COMPAT_XVECTOR_H

#include <vector>

#include "stl_allocator.h"

template <class T, class Alloc = stl_allocator<T>>
using xvector = std::vector<T, Alloc>;

#endif
