// compat/xmap.h: std::map and std::multimap on xmalloc's blocks.
// Layer: compat.
// An allocator may stand in the place of any argument that can be left out: xmap<Key, T, Alloc>.
#ifndef ASHLAR_COMPAT_XMAP_H
#define ASHLAR_COMPAT_XMAP_H

#include <functional>
#include <map>
#include <utility>

#include "allocator_argument.h"
#include "stl_allocator.h"

template <class Key, class T, class Less = std::less<Key>,
          class Alloc = stl_allocator<std::pair<const Key, T>>>
using xmap = std::map<Key, T, ashlar::compat::unless_allocator<Less, std::less<Key>>,
                      ashlar::compat::allocator_among<std::pair<const Key, T>, Less, Alloc>>;

template <class Key, class T, class Less = std::less<Key>,
          class Alloc = stl_allocator<std::pair<const Key, T>>>
using xmultimap =
    std::multimap<Key, T, ashlar::compat::unless_allocator<Less, std::less<Key>>,
                  ashlar::compat::allocator_among<std::pair<const Key, T>, Less, Alloc>>;

#endif
