// pool/placement_new.hpp: `new (pool) T(arguments)`.
// Layer: pool (freestanding).
// Law: a throwing constructor gives the block back (the matching operator delete). Objects made so
// are ended by destroy_in(pool, p): a delete-expression would call the global operator delete.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/pool_engine.hpp>

namespace ashlar {
namespace detail {

template <class Run, class... Policies>
[[nodiscard]] void* place(
    std::size_t size, std::size_t alignment,
    pool_engine<Run, Policies...>& pool) noexcept(pool_engine<Run, Policies...>::nothrow_allocate) {
  using engine = pool_engine<Run, Policies...>;
  if (size > pool.block_size() || alignment > pool.alignment()) [[unlikely]] {
    ashlar_fault({fault_kind::wrong_size, "new (pool)", nullptr, pool.block_size(), pool.name()});
  }
  void* const p = pool.allocate();
  // A new-expression tests for null only where its operator new is noexcept.
  if constexpr (!engine::nothrow_allocate && engine::exhaustion_type::may_return_null) {
    if (p == nullptr) {
      ASHLAR_THROW(std::bad_alloc());
      ashlar_fault({fault_kind::exhausted, "new (pool)", nullptr, size, pool.name()});
    }
  }
  return p;
}

}  // namespace detail

/// Effects: ~T, and the block is free; null is allowed and does nothing.
template <class T, class Run, class... Policies>
void destroy_in(detail::pool_engine<Run, Policies...>& pool, T* object) noexcept {
  if (object == nullptr) return;
  object->~T();
  pool.deallocate_as(object, call_name<"destroy_in">{});
}

}  // namespace ashlar

// Always inlined: gcc 12 takes a template's operator new and operator delete for a
// mismatched pair, and warns at the user's new-expression.

/// Effects: a block of `pool`, with its exhaustion policy; ashlar_fault(wrong_size) if the object
/// does not fit a block. An over-aligned T is as right as any other.
template <class Run, class... Policies>
[[nodiscard]] void*
operator new(std::size_t size, ashlar::detail::pool_engine<Run, Policies...>& pool) noexcept(
    ashlar::detail::pool_engine<Run, Policies...>::nothrow_allocate) {
  return ashlar::detail::place(size, 1, pool);
}
template <class Run, class... Policies>
[[nodiscard]] ASHLAR_HOT void* operator new(
    std::size_t size, std::align_val_t alignment,
    ashlar::detail::pool_engine<Run, Policies...>&
        pool) noexcept(ashlar::detail::pool_engine<Run, Policies...>::nothrow_allocate) {
  return ashlar::detail::place(size, static_cast<std::size_t>(alignment), pool);
}

/// Called when a constructor in `new (pool) T` throws.
template <class Run, class... Policies>
ASHLAR_HOT void operator delete(void* p,
                                ashlar::detail::pool_engine<Run, Policies...>& pool) noexcept {
  pool.deallocate(p);
}
template <class Run, class... Policies>
ASHLAR_HOT void operator delete(void* p, std::align_val_t,
                                ashlar::detail::pool_engine<Run, Policies...>& pool) noexcept {
  pool.deallocate(p);
}

/// A pool's block holds one object: arrays do not compile.
template <class Run, class... Policies>
void* operator new[](std::size_t size, ashlar::detail::pool_engine<Run, Policies...>&) = delete;
template <class Run, class... Policies>
void* operator new[](std::size_t size, std::align_val_t,
                     ashlar::detail::pool_engine<Run, Policies...>&) = delete;
