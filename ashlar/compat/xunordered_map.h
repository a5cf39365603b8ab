// compat/xunordered_map.h: std::unordered_map and unordered_multimap on xmalloc's blocks.
// Layer: compat. An allocator may stand in the place of any argument that can be left out:
// xunordered_map<Key, T, Alloc>. Its bucket array is one block that doubles: with static pools,
// reserve() what is needed once.
#ifndef ASHLAR_COMPAT_XUNORDERED_MAP_H
#define ASHLAR_COMPAT_XUNORDERED_MAP_H

#include <functional>
#include <unordered_map>
#include <utility>

#include "allocator_argument.h"
#include "stl_allocator.h"

template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class Alloc = stl_allocator<std::pair<const Key, T>>>
using xunordered_map = std::unordered_map<
    Key, T, ashlar::compat::unless_allocator<Hash, std::hash<Key>>,
    ashlar::compat::unless_allocator<Equal, std::equal_to<Key>>,
    ashlar::compat::allocator_among<std::pair<const Key, T>, Hash, Equal, Alloc>>;

template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class Alloc = stl_allocator<std::pair<const Key, T>>>
using xunordered_multimap = std::unordered_multimap<
    Key, T, ashlar::compat::unless_allocator<Hash, std::hash<Key>>,
    ashlar::compat::unless_allocator<Equal, std::equal_to<Key>>,
    ashlar::compat::allocator_among<std::pair<const Key, T>, Hash, Equal, Alloc>>;

#endif
