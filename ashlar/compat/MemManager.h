// MemManager.h: the classic MemManager: up to MaxSize objects of one type, in one piece of the
// heap.
// Layer: compat. Forwards to pool/object_pool.hpp.
//
// As in the classic: the constructor takes the memory; fresh slots come in the order of their
// addresses, and a freed slot is the next to be used; one caller at a time unless a lock is given.
// Unlike it:
//   - Over-aligned types are right: the classic had malloc's alignment.
//   - Misuse is found in every build, not by assert: more than MaxSize objects is std::bad_alloc, a
//     foreign address, a double free and objects still there at the end are ashlar_fault.
//   - The object is small: no MaxSize pointers are inside. A slot is sizeof(T), and has a link of
//     four bytes elsewhere. With check::none the link is in the free slot, which has at least a
//     pointer's size then, as in builds with a sanitizer.
//   - `new (pool) T` works for every T. A class with operators of its own, such as
//     operator new(std::size_t, MemManager<Dummy>&), uses those. pool.create() and pool.destroy()
//     (pool/object_face.hpp) need no operator at all.
#pragma once

#if __cplusplus < 202002L
#error "MemManager.h needs C++20: compile with -std=c++20"
#include "-std=c++20"  // is not there: the compiler stops, and that sentence is its last
#endif

#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/adapt/process_source.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/placement_new.hpp>

namespace ashlar::compat {

/// The pool under a MemManager: object_pool with the classic's choices, but for those in Policies.
template <class T, class... Policies>
using mem_manager_pool =
    object_pool<T, pick_policy<source_kind, process_source, Policies...>,
                pick_policy<exhaustion_kind, exhaustion::throw_bad_alloc, Policies...>,
                pick_policy<death_kind, at_death::stop, Policies...>,
                pick_policy<lock_kind, no_lock, Policies...>,
                pick_policy<check_kind, check::cheap, Policies...>,
                pick_policy<counting_kind, counting::exact, Policies...>,
                pick_policy<name_kind, unnamed, Policies...>>;

}  // namespace ashlar::compat

/// Policies, in any order: exhaustion::*, a lock, check::*, counting::*, at_death::*, named<"...">,
/// a page source (ashlar/README.md).
template <class T, std::size_t MaxSize = 1000, class... Policies>
class MemManager : public ashlar::compat::mem_manager_pool<T, Policies...> {
  static_assert(MaxSize > 0, "a pool without a slot");
  static_assert(MaxSize <= SIZE_MAX / sizeof(T), "more bytes than there are addresses");
  using pool = ashlar::compat::mem_manager_pool<T, Policies...>;

 public:
  /// Effects: memory for MaxSize objects, in one piece. Throws: std::bad_alloc when there is none
  /// (ashlar_fault(exhausted) where exceptions do not exist). O(1): no slot is written.
  MemManager() : pool(ashlar::heap_pool{MaxSize}) {
    if (this->capacity() != MaxSize) {
      ASHLAR_THROW(std::bad_alloc());
      if constexpr (!ashlar::has_exceptions) {
        ashlar_fault({ashlar::fault_kind::exhausted, "MemManager", nullptr, sizeof(T)});
      }
    }
  }
  MemManager(const MemManager&) = delete;
  MemManager& operator=(const MemManager&) = delete;
  /// Effects: the memory goes back. ashlar_fault(leak) if slots are still allocated, by default.
  ~MemManager() = default;

  /// Returns: memory for one T, aligned for it. Throws: std::bad_alloc when all MaxSize slots are
  /// in use, or what the exhaustion policy says instead. O(1).
  void* Allocate() noexcept(pool::nothrow_allocate) { return this->allocate(); }

  /// Effects: the slot is free; null does nothing. Requires: an address from Allocate, in use; else
  /// ashlar_fault. O(1).
  void Deallocate(void* slot) noexcept {
    this->deallocate_as(slot, ashlar::call_name<"Deallocate">{});
  }
};
