// adapt/allocator.hpp: the process heap as a standard allocator.
// Layer: adapt.
// Law: what allocate(n) gave, deallocate(p, n) takes with the same n, from any thread, through any
// copy or rebind; xfree takes it too. The told size is compared with the block's class, unless
// check::none is asked for: a wrong n is a fault (wrong_size) at once, not a block on a wrong
// stack.
//
// The hit paths are inlined, and the class of a single T is a constant: allocate(1) is one load of
// this thread's stacks and a pop, deallocate(p, 1) one byte load, a compare with that constant, and
// a push; with check::none only the push.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <version>

#include <ashlar/adapt/cxx_process_heap.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/runtime/hit_path.hpp>

namespace ashlar {

#if defined(__cpp_lib_allocate_at_least) && __cpp_lib_allocate_at_least >= 202302L
/// What allocate_at_least returns: the standard's type where it exists.
template <class Pointer>
using allocation_result = std::allocation_result<Pointer>;
#else
/// What allocate_at_least returns; the standard's type of this name where that exists.
template <class Pointer>
struct allocation_result {
  Pointer ptr;        ///< the block
  std::size_t count;  ///< how many objects it has room for; at least as many as asked for
};
#endif

/// A stateless allocator: all are equal, for all types. T may be incomplete until a function is
/// called, and of any alignment. In a constant expression it is std::allocator.
/// Check: check::cheap compares the size that deallocate is told; with check::none it is trusted,
/// as the standard lets an allocator do, and a wrong one is undefined behaviour. ASHLAR_CHECK in
/// the environment has both look at every call.
/// Thread-safety: every function, any thread, any time, static constructors and destructors too.
template <class T, class Check = check::cheap>
class allocator {
  static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>,
                "a container's elements are neither const nor volatile");
  static_assert(std::is_same_v<Check, check::cheap> || std::is_same_v<Check, check::none>,
                "the process heap's full checks are chosen by the environment: ASHLAR_CHECK=full");

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  constexpr allocator(const allocator&) noexcept = default;
  constexpr allocator& operator=(const allocator&) noexcept = default;
  template <class U>
  constexpr allocator(const allocator<U, Check>&) noexcept {
  }  // NOLINT(google-explicit-constructor)

  /// Returns: uninitialised room for `n` objects, aligned for T; n == 0 gives a block of its own.
  /// Throws: std::bad_array_new_length when n * sizeof(T) does not fit a size_t; when there is no
  /// memory the new-handler runs as for operator new, then std::bad_alloc. Amortised O(1).
  [[nodiscard]] ASHLAR_HOT constexpr T* allocate(std::size_t n) {
    if (std::is_constant_evaluated()) return std::allocator<T>().allocate(n);
    return static_cast<T*>(take(n));
  }

  /// As allocate, but tells how many objects fit the block that it got: at least n.
  [[nodiscard]] constexpr allocation_result<T*> allocate_at_least(std::size_t n) {
    if (std::is_constant_evaluated()) return {std::allocator<T>().allocate(n), n};
    // What its class holds is asked for, so that it is the caller's also where checks guard what is
    // not.
    const class_index c = n <= small_size_max / sizeof(T)
                              ? runtime::process_classes::class_for(n * sizeof(T), alignof(T))
                              : class_index{0};
    const std::size_t count = c != 0 ? runtime::process_classes::block_size(c) / sizeof(T) : n;
    void* const block = take(count);
    const std::size_t have = c != 0 ? count : runtime::usable_size(block, name) / sizeof(T);
    return {static_cast<T*>(block), have};
  }

  /// Effects: gives a block back. Requires: `p` came from allocate(n), or from allocate_at_least
  /// with n between what was asked for and what it returned; else, unless Check is none,
  /// ashlar_fault: wrong_size, or as xfree when it is no block of the process heap. Amortised O(1).
  ASHLAR_HOT constexpr void deallocate(T* p, std::size_t n) noexcept {
    if (std::is_constant_evaluated()) return std::allocator<T>().deallocate(p, n);
    constexpr auto hint = std::is_same_v<Check, check::none> ? runtime::size_hint::trusted
                                                             : runtime::size_hint::compared;
    if constexpr (alignof(T) <= block_granule)
      runtime::deallocate_sized<hint>(p, n * sizeof(T), name);
    else if (n != 1)
      runtime::deallocate_sized_slow(p, n * sizeof(T), alignof(T), name);
    else
      runtime::deallocate_constant<sizeof(T), alignof(T), hint>(p, name);
  }

 private:
  static constexpr const char* name = "allocator::deallocate";

  [[nodiscard]] ASHLAR_HOT static void* take(std::size_t n) {
    const std::size_t bytes = cxx_rules::array_bytes<sizeof(T)>(n, "allocator::allocate");
    if constexpr (alignof(T) <= block_granule) {
      return cxx_rules::allocate(bytes);
    } else if (n == 1) {
      return cxx_rules::allocate_constant<sizeof(T), alignof(T)>();
    } else {
      return cxx_rules::allocate(bytes, alignof(T));
    }
  }
};

template <class T, class U, class Check>
[[nodiscard]] constexpr bool operator==(const allocator<T, Check>&,
                                        const allocator<U, Check>&) noexcept {
  return true;
}

}  // namespace ashlar
