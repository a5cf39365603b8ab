// compat/xmap.h: std::map and std::multimap on xmalloc's blocks.
// Layer: compat.
#ifndef ASHLAR_COMPAT_XMAP_H
#define ASHLAR_COMPAT_XMAP_H

#include <functional>
#include <map>
#include <utility>

#include "stl_allocator.h"

template <class Key, class T, class Less = std::less<Key>,
          class Alloc = stl_allocator<std::pair<const Key, T>>>
using xmap = std::map<Key, T, Less, Alloc>;

template <class Key, class T, class Less = std::less<Key>,
          class Alloc = stl_allocator<std::pair<const Key, T>>>
using xmultimap = std::multimap<Key, T, Less, Alloc>;

#endif
