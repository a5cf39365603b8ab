// adapt/class_operators.hpp: what a class's own operator new and delete do, over any heap.
// Layer: adapt. C++17, since the classic headers are: so the protocol stands here
// in plain words, and not as a policy of core/exhaustion.hpp.
// Law: the forms that throw follow operator new's protocol (call the std::new_handler, try again,
// and without one throw std::bad_alloc); the nothrow forms follow it too and return null where
// those throw. A heap that has called the handler itself is not asked again. Freestanding programs
// have no std::new_handler.
//
// The operators themselves have to be declared inside the class or a base of it: the macro
// XALLOCATOR (compat/xallocator.h) and the mixins do that, and forward to these functions.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/adapt/xmalloc.h>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>

namespace ashlar {

/// `Heap` is one that class operators can stand on, as static functions that do not throw:
///   Heap::try_allocate(size, alignment)  a block, or null. 0 counts as 1. alignment: power of two
///   Heap::deallocate(p)                  gives a block back; null does nothing.
///   Heap::asks_handler()                 whether try_allocate calls the std::new_handler itself
/// Thread-safety: the heap's; no lock is held while a handler runs.
template <class Heap>
struct class_operators {
  static constexpr std::size_t default_alignment = alignof(std::max_align_t);

  /// Returns: a block, never null. Throws: std::bad_alloc when there is no memory and no handler,
  /// and what a handler throws; where exceptions do not exist it ends in ashlar_fault(exhausted).
  [[nodiscard]] static void* allocate(std::size_t size, std::size_t alignment = default_alignment) {
    void* const p = Heap::try_allocate(size, alignment);
    return __builtin_expect(p != nullptr, 1) ? p : allocate_slow(size, alignment);
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
  /// Returns: a block after all, or null when there is no handler any more.
  [[nodiscard]] static void* retry(std::size_t size, std::size_t alignment) {
    if constexpr (hosted) {
      if (Heap::asks_handler()) return nullptr;
      while (const std::new_handler handler = std::get_new_handler()) {
        handler();
        if (void* const p = Heap::try_allocate(size, alignment)) return p;
      }
    }
    return nullptr;
  }
  [[nodiscard]] ASHLAR_COLD static void* allocate_slow(std::size_t size, std::size_t alignment) {
    if (void* const p = retry(size, alignment)) return p;
    ASHLAR_THROW(std::bad_alloc());
    if constexpr (!has_exceptions) {
      ashlar_fault({fault_kind::exhausted, "operator new", nullptr, size});
    }
  }
  [[nodiscard]] static void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
    void* const p = Heap::try_allocate(size, alignment);
    if (__builtin_expect(p != nullptr, 1)) return p;
    ASHLAR_TRY { return retry(size, alignment); }
    ASHLAR_CATCH_ALL { return nullptr; }
  }
};

/// The program's xmalloc, whoever defines it.
struct xmalloc_heap {
  static void* try_allocate(std::size_t size, std::size_t alignment) noexcept {
    return alignment <= alignof(std::max_align_t) ? xmalloc(size) : xaligned_alloc(alignment, size);
  }
  static void deallocate(void* p) noexcept { xfree(p); }
  static bool asks_handler() noexcept { return xalloc_asks_handler() != 0; }
};

struct xmalloc_operators : class_operators<xmalloc_heap> {
  /// Effects: gives a block back; a fault names `call`.
  static void deallocate(void* p, const char* call) noexcept { xfree_as(p, call); }
};

}  // namespace ashlar
