// compat/xset.h: std::set and std::multiset on xmalloc's blocks.
// Layer: compat.
// An allocator may stand in the place of any argument that can be left out: xset<Key, Alloc>.
#ifndef ASHLAR_COMPAT_XSET_H
#define ASHLAR_COMPAT_XSET_H

#include <functional>
#include <set>

#include "allocator_argument.h"
#include "stl_allocator.h"

template <class Key, class Less = std::less<Key>, class Alloc = stl_allocator<Key>>
using xset = std::set<Key, ashlar::compat::unless_allocator<Less, std::less<Key>>,
                      ashlar::compat::allocator_among<Key, Less, Alloc>>;

template <class Key, class Less = std::less<Key>, class Alloc = stl_allocator<Key>>
using xmultiset = std::multiset<Key, ashlar::compat::unless_allocator<Less, std::less<Key>>,
                                ashlar::compat::allocator_among<Key, Less, Alloc>>;

#endif
