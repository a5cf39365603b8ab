// adapt/class_new.hpp: base classes that give a class, and all that derive from it, operator new
// and delete of their own: without a macro.
// Layer: adapt.
//
//   struct message : ashlar::heap_allocated<message> { ... };      every form, on the process heap
//
//   struct event;                                                  every form, in one pool
//   extern constinit ashlar::static_pool<event, 100> events;
//   struct event : ashlar::pooled<event, events> { ... };
//   constinit ashlar::static_pool<event, 100> events;
//
// Both are empty, and templates of the class itself so that they stay so: two bases of one type
// would need two addresses. As with every class-specific operator, a class that is deleted through
// a base needs a virtual destructor there; what the sized delete is told wrong otherwise is a fault
// (wrong_size) where the allocator can see it.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <ashlar/adapt/class_operators.hpp>
#include <ashlar/adapt/component.hpp>
#include <ashlar/adapt/cxx_process_heap.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/runtime/hit_path.hpp>

namespace ashlar {

namespace detail {

/// The process heap, not xmalloc's: the program may have replaced that.
struct process_operator_heap {
  static void* try_allocate(std::size_t size, std::size_t alignment) noexcept {
    return runtime::allocate_aligned(size, alignment);
  }
  static void deallocate(void* p) noexcept { runtime::deallocate(p, "operator delete"); }
  static bool asks_handler() noexcept { return false; }
};

/// Takes a block back without being told its size.
template <class C>
concept takes_address = requires(C& c, void* p) { c.deallocate(p); };

}  // namespace detail

/// Base: new and delete of `T` and of what derives from it use the process heap, in all forms. The
/// hit paths are inlined, and the size of an object is a constant there. Throws: as operator new.
/// Thread-safety: any thread, any time.
template <class T>
struct heap_allocated {
 private:
  using operators = class_operators<detail::process_operator_heap>;
  static constexpr const char* call = "operator delete";

 public:
  static void* operator new(std::size_t n) { return cxx_rules::allocate(n); }
  static void* operator new[](std::size_t n) { return cxx_rules::allocate(n); }
  static void* operator new(std::size_t n, std::align_val_t a) { return operators::allocate(n, a); }
  static void* operator new[](std::size_t n, std::align_val_t a) {
    return operators::allocate(n, a);
  }
  static void* operator new(std::size_t n, const std::nothrow_t& t) noexcept {
    return operators::allocate(n, t);
  }
  static void* operator new[](std::size_t n, const std::nothrow_t& t) noexcept {
    return operators::allocate(n, t);
  }
  static void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t& t) noexcept {
    return operators::allocate(n, a, t);
  }
  static void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t& t) noexcept {
    return operators::allocate(n, a, t);
  }
  // A class's own operator new hides the global ones, placement included.
  static void* operator new(std::size_t, void* place) noexcept { return place; }
  static void* operator new[](std::size_t, void* place) noexcept { return place; }

  static void operator delete(void* p, std::size_t n) noexcept {
    runtime::deallocate_sized(p, n, call);
  }
  // Not sized: gcc and clang find no sized form when the constructor of an over-aligned class
  // throws.
  static void operator delete(void* p, std::align_val_t) noexcept { operators::deallocate(p); }
  // Not sized: that would make the compiler keep each array's length in front of it.
  static void operator delete[](void* p) noexcept { operators::deallocate(p); }
  static void operator delete[](void* p, std::align_val_t) noexcept { operators::deallocate(p); }
  // For constructors that throw.
  static void operator delete(void* p, const std::nothrow_t&) noexcept { operators::deallocate(p); }
  static void operator delete[](void* p, const std::nothrow_t&) noexcept {
    operators::deallocate(p);
  }
  static void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
    operators::deallocate(p);
  }
  static void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
    operators::deallocate(p);
  }
  static void operator delete(void*, void*) noexcept {}
  static void operator delete[](void*, void*) noexcept {}
};

/// Base: new and delete of `T` and of what derives from it use `Pool`, an object of static storage:
/// a pool, a pool set or any other component. Its type may depend on T, which is incomplete here.
///
/// A derived class whose objects the pool's blocks cannot hold is served by `Upstream`, a stateless
/// page source such as process_source; without one its new is ashlar_fault(wrong_size): by its
/// size, or its alignment where that is above the default. (One that is no larger than a block but,
/// within the default, more aligned than T cannot be seen.) `new T[n]` does not compile: a block is
/// for one object, and a container has allocators. Nor do nothrow new and new of over-aligned
/// classes where pool or upstream must be told the size of what they take back: the deletes that
/// belong to those forms are not told it.
///
/// Throws: what the pool's exhaustion policy throws, std::bad_alloc for a null from it; the nothrow
/// form returns null and does not ask the policy. Thread-safety: the pool's.
template <class T, auto& Pool, class Upstream = no_upstream>
struct pooled {
 private:
  static constexpr bool has_upstream = !std::is_same_v<Upstream, no_upstream>;
  // Templates, because their answers are known only when T is complete.
  template <class P>
  // (A block that the pool borrowed is not its own, and could not be told from the upstream's.)
  static constexpr bool frees_by_address =
      detail::takes_address<std::remove_reference_t<P>> &&
      (!has_upstream ||
       (detail::takes_address<Upstream> && !std::remove_reference_t<P>::exhaustion_type::borrows));

  [[nodiscard]] static void* take(std::size_t n, std::size_t alignment) {
    expect_served("operator new", nullptr, n, alignment);
    Upstream upstream;
    void* const p = detail::take(Pool, upstream, n, alignment);
    if (p == nullptr) [[unlikely]]
      cxx_rules::throw_bad_alloc("operator new", n);
    return p;
  }
  [[nodiscard]] static void* try_take(std::size_t n, std::size_t alignment) noexcept {
    expect_served("operator new", nullptr, n, alignment);
    if (!detail::serves(Pool, n, alignment)) return Upstream().allocate(n, alignment);
    if constexpr (sized_component<std::remove_reference_t<decltype(Pool)>>) {
      return Pool.try_allocate(n, alignment);
    } else {
      return Pool.try_allocate();
    }
  }
  static void give(void* p, std::size_t n, std::size_t alignment) noexcept {
    if (p == nullptr) return;
    expect_served("operator delete", p, n, alignment);
    Upstream upstream;
    detail::give(Pool, upstream, p, n, alignment);
  }
  static void give(void* p) noexcept {
    if constexpr (has_upstream) {
      if (!Pool.owns(p)) return Upstream().deallocate(p);
    }
    Pool.deallocate(p);
  }
  static void expect_served([[maybe_unused]] const char* call, [[maybe_unused]] const void* p,
                            [[maybe_unused]] std::size_t n,
                            [[maybe_unused]] std::size_t alignment) noexcept {
    if constexpr (!has_upstream) {
      if (!detail::serves(Pool, n, alignment)) [[unlikely]]
        ashlar_fault({.kind = fault_kind::wrong_size, .call = call, .address = p, .block_size = n});
    }
  }

 public:
  static void* operator new(std::size_t n) { return take(n, alignof(T)); }
  static void* operator new(std::size_t n, std::align_val_t a)
    requires frees_by_address<decltype(Pool)>
  {
    return take(n, static_cast<std::size_t>(a));
  }
  // Else an over-aligned class would get what operator new(n) has.
  static void* operator new(std::size_t, std::align_val_t)
    requires(!frees_by_address<decltype(Pool)>)
  = delete;
  static void* operator new(std::size_t n, const std::nothrow_t&) noexcept
    requires frees_by_address<decltype(Pool)>
  {
    return try_take(n, alignof(T));
  }
  static void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept
    requires frees_by_address<decltype(Pool)>
  {
    return try_take(n, static_cast<std::size_t>(a));
  }
  static void* operator new(std::size_t, void* place) noexcept { return place; }
  static void* operator new[](std::size_t) = delete;
  static void* operator new[](std::size_t, std::align_val_t) = delete;
  static void* operator new[](std::size_t, void* place) noexcept { return place; }

  static void operator delete(void* p, std::size_t n) noexcept { give(p, n, alignof(T)); }
  // Not sized, as in heap_allocated.
  static void operator delete(void* p, std::align_val_t) noexcept
    requires frees_by_address<decltype(Pool)>
  {
    give(p);
  }
  static void operator delete(void* p, const std::nothrow_t&) noexcept
    requires frees_by_address<decltype(Pool)>
  {
    give(p);
  }
  static void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept
    requires frees_by_address<decltype(Pool)>
  {
    give(p);
  }
  static void operator delete(void*, void*) noexcept {}
  static void operator delete[](void*, void*) noexcept {}
};

}  // namespace ashlar
