// memory_pool_allocator.h: the classic pool allocator for standard containers, Allocator<T>.
// Layer: compat. Forwards to pool/refill_lists.hpp.
//
//   Allocator<T>        small blocks up to 128 bytes, in steps of 8
//   Allocator1024<T>    up to 1024
//   Allocator4096<T>    up to 4096
//   Allocator<T, MaxBytes, Step, Policies...>
// The policies are those of refill_lists, in any order: a lock (default os::mutex), check::*,
// counting::*, exhaustion::*. One thread and no checks, as the classic was: no_lock, check::none,
// counting::none.
//
// As in the classic: all allocators of the same bounds share one set of free lists, whatever their
// T; a request above the bound goes to the heap; small memory is kept for reuse, never given back.
// Unlike it:
//   - Any number of threads: one lock for each set of lists. The lists are there before the first
//     static constructor and after the last static destructor.
//   - allocate never returns null: the new-handler is called once, and if there is still nothing,
//     std::bad_alloc is thrown;
//     n * sizeof(T) that no memory holds is std::bad_array_new_length.
//   - Over-aligned types are right. construct takes any arguments, so that what can be moved is.
//
// One name, two documents: Allocator.h's Allocator is a class, so a program uses one of the
// two headers.
#pragma once

#define ASHLAR_ALLOCATOR_TEMPLATE
#ifdef ASHLAR_ALLOCATOR_CLASS
#error "Allocator.h and memory_pool_allocator.h both define Allocator: a source file includes one"
#include "one of both"  // is not there: the compiler stops
#endif

#if __cplusplus < 202002L
#error "memory_pool_allocator.h needs C++20: compile with -std=c++20"
#include "-std=c++20"  // is not there: the compiler stops, and that sentence is its last
#endif

#include <algorithm>
#include <chrono>  // one of the document's tests has it from here
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/adapt/process_source.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/pool/refill_lists.hpp>

namespace ashlar::compat {

/// The free lists that all Allocator<T, MaxBytes, Step, Policies...> of a program share.
template <std::size_t MaxBytes, std::size_t Step, class... Policies>
using shared_refill_lists =
    refill_lists<process_source, MaxBytes, Step,
                 pick_policy<exhaustion_kind, exhaustion::handler_once<exhaustion::throw_bad_alloc>,
                             Policies...>,
                 pick_policy<lock_kind, os::mutex, Policies...>,
                 pick_policy<check_kind, check::cheap, Policies...>,
                 pick_policy<counting_kind, counting::exact, Policies...>, at_death::abandon,
                 named<"Allocator<T>">>;

template <std::size_t MaxBytes, std::size_t Step, class... Policies>
inline constinit shared_refill_lists<MaxBytes, Step, Policies...> the_refill_lists;

}  // namespace ashlar::compat

/// Models the standard's allocator. All of the same bounds are equal. Thread-safe.
template <class T, std::size_t MaxBytes = 128, std::size_t Step = 8, class... Policies>
class Allocator {
 public:
  using _Not_user_specialized = void;  // NOLINT(bugprone-reserved-identifier): the classic's name
  using value_type = T;
  using pointer = T*;
  using const_pointer = const T*;
  using reference = T&;
  using const_reference = const T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;
  template <class U>
  struct rebind {
    using other = Allocator<U, MaxBytes, Step, Policies...>;
  };

  constexpr Allocator() noexcept = default;
  template <class U>
  constexpr Allocator(const Allocator<U, MaxBytes, Step, Policies...>&) noexcept {
  }  // NOLINT: as std::allocator

  pointer address(reference x) const noexcept { return std::addressof(x); }
  const_pointer address(const_reference x) const noexcept { return std::addressof(x); }

  /// Returns: memory for `n` objects, aligned for them; n == 0 gives a block of its own. The hint
  /// is not used. Throws: std::bad_array_new_length if n > max_size(); std::bad_alloc, or what a
  /// new-handler throws. Complexity: O(1), a refill aside; above MaxBytes as the process heap.
  pointer allocate(size_type n, const void* hint = nullptr) {
    (void)hint;
    // A small request is compared with MaxBytes alone, which the lists do anyway.
    if (n > MaxBytes / sizeof(T)) [[unlikely]] {
      if (n > max_size()) too_long(n);
    }
    return static_cast<pointer>(lists().allocate(n * sizeof(T), alignof(T)));
  }

  /// Effects: the memory is free; null does nothing. Requires: `p` came from allocate(n) of an
  /// equal allocator; else ashlar_fault as far as refill_lists and the process heap see it.
  void deallocate(pointer p, size_type n) noexcept {
    lists().deallocate(p, n * sizeof(T), alignof(T));
  }

  /// Effects: memory for `new_size` objects instead of the `original_size` at `p`, which may be
  /// null. The first min(original_size, new_size) objects move along if T is trivially copyable; of
  /// other types there must be none. Throws: as allocate; `p` is then as it was.
  pointer reallocate(pointer p, size_type original_size, size_type new_size) {
    const pointer q = allocate(new_size);
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (p != nullptr) std::memcpy(q, p, std::min(original_size, new_size) * sizeof(T));
    }
    lists().deallocate_as(p, original_size * sizeof(T), alignof(T), "reallocate");
    return q;
  }

  /// Returns: the most objects that any memory could hold.
  constexpr size_type max_size() const noexcept { return PTRDIFF_MAX / sizeof(T); }

  /// Effects: U(arguments...) at `p`.
  template <class U, class... Arguments>
  void construct(U* p, Arguments&&... arguments) {
    ::new (static_cast<void*>(p)) U(std::forward<Arguments>(arguments)...);
  }
  /// Effects: ~U.
  template <class U>
  void destroy(U* p) noexcept {
    p->~U();
  }

  template <class U>
  friend constexpr bool operator==(const Allocator&,
                                   const Allocator<U, MaxBytes, Step, Policies...>&) noexcept {
    return true;
  }

 private:
  [[nodiscard]] static auto& lists() noexcept {
    return ashlar::compat::the_refill_lists<MaxBytes, Step, Policies...>;
  }
  [[noreturn]] ASHLAR_COLD static void too_long([[maybe_unused]] size_type n) {
    ASHLAR_THROW(std::bad_array_new_length());
    if constexpr (!ashlar::has_exceptions) {
      ashlar_fault({ashlar::fault_kind::exhausted, "Allocator<T>::allocate", nullptr, n});
    }
  }
};

template <class T>
using Allocator1024 = Allocator<T, 1024>;
template <class T>
using Allocator4096 = Allocator<T, 4096>;
