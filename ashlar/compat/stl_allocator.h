// compat/stl_allocator.h: the classic stl_allocator: xmalloc and xfree as a standard allocator.
// Layer: compat. C++17. See ashlar/adapt/allocator.hpp for the one without a classic name, which is
// faster where the process heap serves xmalloc, since it is inlined.
//
// Beyond the classic: over-aligned types, a product n * sizeof(T) that does not fit is
// std::bad_array_new_length, no memory is the new-handler and then std::bad_alloc, never null.
// It derives from nothing: with std::allocator as a base, C++23's allocate_at_least would be found
// there, and memory of operator new be given to xfree.
#ifndef ASHLAR_COMPAT_STL_ALLOCATOR_H
#define ASHLAR_COMPAT_STL_ALLOCATOR_H

#include "needs_cxx17.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#ifndef ASHLAR_FACE_IS_CXX17
#define ASHLAR_FACE_IS_CXX17 /* for core/config.hpp */
#endif
#include <ashlar/adapt/class_operators.hpp>
#include <ashlar/adapt/cxx_rules.hpp>

#include "xallocator.h"

template <class T>
class stl_allocator;

/// For rebinding only.
template <>
class stl_allocator<void> {
 public:
  using value_type = void;
  using pointer = void*;
  using const_pointer = const void*;
  using is_always_equal = std::true_type;
  template <class U>
  struct rebind {
    using other = stl_allocator<U>;
  };

  constexpr stl_allocator() noexcept = default;
  template <class U>
  constexpr stl_allocator(const stl_allocator<U>&) noexcept {
  }  // NOLINT(google-explicit-constructor)
};

/// Stateless; all are equal. Whoever serves xmalloc in the program serves this: the process heap,
/// or the program's own pools. What it allocates may be given to xfree.
template <class T>
class stl_allocator {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using const_pointer = const T*;
  using reference = T&;
  using const_reference = const T&;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;
  template <class U>
  struct rebind {
    using other = stl_allocator<U>;
  };

  constexpr stl_allocator() noexcept = default;
  template <class U>
  constexpr stl_allocator(const stl_allocator<U>&) noexcept {
  }  // NOLINT(google-explicit-constructor)

  /// Returns: room for `n` objects, aligned for T, from xmalloc. The hint is not used. Throws:
  /// std::bad_array_new_length, std::bad_alloc, and what a new-handler throws. Thread-safety: as
  /// xmalloc.
  pointer allocate(size_type n, const void* = nullptr) {
    return static_cast<pointer>(ashlar::xmalloc_operators::allocate(
        ashlar::cxx_rules::array_bytes<sizeof(T)>(n, "stl_allocator::allocate"), alignof(T)));
  }
  /// Effects: as xfree(p).
  void deallocate(pointer p, size_type) noexcept { xfree_as(p, "deallocate"); }

  size_type max_size() const noexcept { return SIZE_MAX / sizeof(T); }
  pointer address(reference object) const noexcept { return std::addressof(object); }
  const_pointer address(const_reference object) const noexcept { return std::addressof(object); }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
  template <class U>
  void destroy(U* object) noexcept {
    std::destroy_at(object);
  }
};

template <class T, class U>
constexpr bool operator==(const stl_allocator<T>&, const stl_allocator<U>&) noexcept {
  return true;
}
template <class T, class U>
constexpr bool operator!=(const stl_allocator<T>&, const stl_allocator<U>&) noexcept {
  return false;
}

#endif
