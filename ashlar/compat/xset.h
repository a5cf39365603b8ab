// compat/xset.h: std::set and std::multiset on xmalloc's blocks.
// Layer: compat.
#ifndef ASHLAR_COMPAT_XSET_H
#define ASHLAR_COMPAT_XSET_H

#include <functional>
#include <set>

#include "stl_allocator.h"

template <class Key, class Less = std::less<Key>, class Alloc = stl_allocator<Key>>
using xset = std::set<Key, Less, Alloc>;

template <class Key, class Less = std::less<Key>, class Alloc = stl_allocator<Key>>
using xmultiset = std::multiset<Key, Less, Alloc>;

#endif
