// bench/classic/originals/stl_allocator.hpp: the algorithm of "A Custom STL std::allocator
// Replacement Improves Performance", written from that document's description, to measure against.
//
// As described: each request of a container is one call of xmalloc or xfree, in heap-blocks mode.
#pragma once

#include <cstddef>

#include "xallocator.hpp"

namespace originals {

template <class T>
class stl_allocator {
 public:
  using value_type = T;

  constexpr stl_allocator() noexcept = default;
  template <class U>
  constexpr stl_allocator(const stl_allocator<U>&) noexcept {}  // NOLINT: as std::allocator

  [[nodiscard]] T* allocate(std::size_t n) { return static_cast<T*>(xmalloc(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) noexcept { xfree(p); }

  template <class U>
  friend constexpr bool operator==(const stl_allocator&, const stl_allocator<U>&) noexcept {
    return true;
  }
};

}  // namespace originals
