// compat/xunordered_set.h: std::unordered_set and unordered_multiset on xmalloc's blocks.
// Layer: compat. An allocator may stand in the place of any argument that can be left out:
// xunordered_set<Key, Alloc>. Its bucket array is one block that doubles: with static pools,
// reserve() what is needed once.
#ifndef ASHLAR_COMPAT_XUNORDERED_SET_H
#define ASHLAR_COMPAT_XUNORDERED_SET_H

#include <functional>
#include <unordered_set>

#include "allocator_argument.h"
#include "stl_allocator.h"

template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class Alloc = stl_allocator<Key>>
using xunordered_set =
    std::unordered_set<Key, ashlar::compat::unless_allocator<Hash, std::hash<Key>>,
                       ashlar::compat::unless_allocator<Equal, std::equal_to<Key>>,
                       ashlar::compat::allocator_among<Key, Hash, Equal, Alloc>>;

template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class Alloc = stl_allocator<Key>>
using xunordered_multiset =
    std::unordered_multiset<Key, ashlar::compat::unless_allocator<Hash, std::hash<Key>>,
                            ashlar::compat::unless_allocator<Equal, std::equal_to<Key>>,
                            ashlar::compat::allocator_among<Key, Hash, Equal, Alloc>>;

#endif
