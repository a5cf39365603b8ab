// adapt/class_operators.hpp: what a class's own operator new and delete do, over any heap.
// Layer: adapt. Includes: core.
// Law: the forms that throw follow operator new's protocol (call the std::new_handler, try again, and
// without one throw std::bad_alloc); the nothrow forms follow it too and return null where those throw.
// Freestanding programs have no std::new_handler.
//
// The operators themselves have to be declared inside the class or a base of it: the macro XALLOCATOR
// (compat/xallocator.h) and the mixins do that, and forward to these functions.
#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>

#include <ashlar/adapt/xmalloc.h>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>

namespace ashlar {

/// A heap that class operators can stand on, as static functions:
///   H::try_allocate(size, alignment)  a block, or null. 0 counts as 1; alignment is a power of two.
///   H::deallocate(p)                  gives a block back; null does nothing.
template <class H>
concept operator_heap = requires(void* p, std::size_t n) {
  { H::try_allocate(n, n) } noexcept -> std::same_as<void*>;
  { H::deallocate(p) } noexcept;
};

/// The program's xmalloc, whoever defines it.
struct xmalloc_heap {
  static void* try_allocate(std::size_t size, std::size_t alignment) noexcept {
    return alignment <= alignof(std::max_align_t) ? xmalloc(size) : xaligned_alloc(alignment, size);
  }
  static void deallocate(void* p) noexcept { xfree(p); }
};

/// Thread-safety: the heap's; no lock is held while a handler runs.
template <operator_heap Heap>
struct class_operators {
  static constexpr std::size_t default_alignment = alignof(std::max_align_t);

  /// Returns: a block, never null. Throws: std::bad_alloc when there is no memory and no handler, and
  /// what a handler throws; where exceptions do not exist it ends in ashlar_fault(exhausted).
  [[nodiscard]] static void* allocate(std::size_t size, std::size_t alignment = default_alignment) {
    void* const p = Heap::try_allocate(size, alignment);
    if (p != nullptr) [[likely]]
      return p;
    return missed<exhaustion::throw_bad_alloc>(size, alignment);
  }
  [[nodiscard]] static void* allocate(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
  }

  /// Returns: as above, but null where that throws.
  [[nodiscard]] static void* allocate(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate_or_null(size, default_alignment);
  }
  [[nodiscard]] static void* allocate(std::size_t size, std::align_val_t alignment,
                                      const std::nothrow_t&) noexcept {
    return allocate_or_null(size, static_cast<std::size_t>(alignment));
  }

  /// Effects: gives a block back. The size and alignment that some deletes are told are not asked
  /// for: the heap knows them, and a class without a virtual destructor may be told wrong ones.
  static void deallocate(void* p) noexcept { Heap::deallocate(p); }

 private:
  template <class Then>
  [[nodiscard]] ASHLAR_COLD static void* missed(std::size_t size, std::size_t alignment) {
    using policy = std::conditional_t<hosted, exhaustion::handler_and_retry<Then>, Then>;
    return policy{}.exhausted({size, alignment, nullptr},
                              [=]() noexcept { return Heap::try_allocate(size, alignment); });
  }
  [[nodiscard]] static void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
    void* const p = Heap::try_allocate(size, alignment);
    if (p != nullptr) [[likely]]
      return p;
    ASHLAR_TRY {
      return missed<exhaustion::null>(size, alignment);
    }
    ASHLAR_CATCH_ALL {
      return nullptr;
    }
  }
};

using xmalloc_operators = class_operators<xmalloc_heap>;

}  // namespace ashlar
