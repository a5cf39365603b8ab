// core/exhaustion.hpp: what a bounded allocator does when it is empty.
// Layer: core (freestanding).
// Law: exhausted() runs with no lock of the allocator held, so it may free, allocate, and wait.
//
//   policy                          allocate() on empty                 may return null  may throw
//   exhaustion::null                null                                yes              no
//   exhaustion::throw_bad_alloc     std::bad_alloc (else ashlar_fault)  no               yes
//   exhaustion::handler_and_retry   handler, retry, ...; then `Then`    as Then          yes
//   exhaustion::handler_once        handler, retry; then `Then`         as Then          yes
//   exhaustion::next_larger<Pool>   a block of another pool             yes              no
//   exhaustion::upstream<Source>    a piece of a page source            yes              no
//   exhaustion::stop                ashlar_fault                        no               no
//   exhaustion::counted<Then>       counts it; then `Then`              as Then          as Then
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <new>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/policy.hpp>

namespace ashlar {

/// What was asked for when the allocator was empty.
struct exhaustion_request {
  std::size_t size_bytes;
  std::size_t alignment;
  const char* pool;  ///< its name, or null
};

/// An exhaustion policy: `exhausted(request, retry)` gets a callable that tries the allocation once
/// more and returns a block or null. One that `borrows` gets the block back by give_back(p,
/// request), with the request it was borrowed for; and by give_back(p), if it can do without
/// (`returns_by_address`).
template <class E>
concept exhaustion_policy = std::same_as<typename E::policy_kind, exhaustion_kind> &&
                            requires(E& e, exhaustion_request request, void* (*retry)()) {
                              { e.exhausted(request, retry) } -> std::same_as<void*>;
                              { E::nothrow } -> std::convertible_to<bool>;
                              { E::may_return_null } -> std::convertible_to<bool>;
                              { E::borrows } -> std::convertible_to<bool>;
                            };

/// Whether a borrowed block goes back without its size and alignment.
template <class E>
concept returns_by_address = requires(E& e, void* p) { e.give_back(p); };

namespace exhaustion {

/// Returns null.
struct null {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = true;
  static constexpr bool may_return_null = true;
  static constexpr bool borrows = false;

  template <class Retry>
  void* exhausted(const exhaustion_request&, Retry&&) noexcept {
    return nullptr;
  }
};

/// Ends in ashlar_fault(exhausted). An allocator that knows what holds its memory gives a `retry`
/// that ends so itself.
struct stop {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = true;
  static constexpr bool may_return_null = false;
  static constexpr bool borrows = false;

  template <class Retry>
  [[noreturn]] void* exhausted(const exhaustion_request& request,
                               [[maybe_unused]] Retry&& retry) noexcept {
    if constexpr (requires { retry.end(request); }) retry.end(request);
    ashlar_fault({fault_kind::exhausted, "allocate", nullptr, request.size_bytes, request.pool});
  }
};

/// Counts how often allocate() found nothing, for a program and its debugger to read; then as
/// `Then`. (What try_allocate refuses is its caller's to count.)
template <exhaustion_policy Then = null>
struct counted : Then {
  constexpr counted() noexcept = default;
  constexpr explicit counted(Then then) noexcept : Then(then) {}

  template <class Retry>
  void* exhausted(const exhaustion_request& request, Retry&& retry) noexcept(Then::nothrow) {
    // With no lock held, so callers may come at the same time; where one cannot add in a step, a
    // count may be lost then.
    if constexpr (std::atomic_ref<std::size_t>::is_always_lock_free) {
      std::atomic_ref(failure_count).fetch_add(1, std::memory_order_relaxed);
    } else {
      ++failure_count;
    }
    return Then::exhausted(request, retry);
  }

  /// Calls of allocate() that found the allocator empty, whatever `Then` made of them.
  std::size_t failure_count = 0;
};

/// Throws std::bad_alloc; ends in ashlar_fault(exhausted) where exceptions do not exist.
struct throw_bad_alloc {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = !has_exceptions;
  static constexpr bool may_return_null = false;
  static constexpr bool borrows = false;

  template <class Retry>
  [[noreturn]] void* exhausted([[maybe_unused]] const exhaustion_request& request,
                               Retry&&) noexcept(nothrow) {
    ASHLAR_THROW(std::bad_alloc());
    if constexpr (!has_exceptions) {
      ashlar_fault({fault_kind::exhausted, "allocate", nullptr, request.size_bytes, request.pool});
    }
  }
};

/// The process's handler, as std::set_new_handler sets it. Needs a hosted library.
struct std_new_handler {
  [[nodiscard]] std::new_handler get() const noexcept { return std::get_new_handler(); }
};

/// A handler of its own for each allocator: for firmware, or where the process's handler is not
/// meant. Set it before the allocator is shared: `handler` is not synchronised.
struct own_handler {
  std::new_handler handler = nullptr;
  [[nodiscard]] std::new_handler get() const noexcept { return handler; }
};

/// The protocol of operator new: while there is a handler, call it and try again; without one,
/// `Then` decides. The handler may free blocks, throw, install another handler, or not return; one
/// that does none of these is called for ever, as with operator new.
template <exhaustion_policy Then = null, class Handler = std_new_handler>
struct handler_and_retry {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = false;
  static constexpr bool may_return_null = Then::may_return_null;
  static constexpr bool borrows = false;
  static_assert(!Then::borrows, "a pool gives back by its own policy, not by a nested one");

  [[no_unique_address]] Handler source{};
  [[no_unique_address]] Then then{};

  template <class Retry>
  void* exhausted(const exhaustion_request& request, Retry&& retry) {
    while (const std::new_handler handler = source.get()) {
      handler();
      if (void* p = retry()) return p;
    }
    return then.exhausted(request, retry);
  }
};

/// The classic pools' way: calls the handler once, if there is one, and tries again once; then
/// `Then` decides. So a handler that only writes a line comes back to its caller.
template <exhaustion_policy Then = null, class Handler = std_new_handler>
struct handler_once : handler_and_retry<Then, Handler> {
  template <class Retry>
  void* exhausted(const exhaustion_request& request, Retry&& retry) {
    if (const std::new_handler handler = this->source.get()) {
      handler();
      if (void* p = retry()) return p;
    }
    return this->then.exhausted(request, retry);
  }
};

/// Takes the block from another pool (usually the next larger size), which gets it back when it is
/// freed here. Requires: `pool` outlives the borrower, its blocks are at least as large and as
/// aligned (else ashlar_fault(wrong_size) at the first loan), and no circle of loans.
template <class Pool>
struct next_larger {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = true;
  static constexpr bool may_return_null = true;
  static constexpr bool borrows = true;

  explicit constexpr next_larger(Pool& next) noexcept : pool(&next) {}

  template <class Retry>
  void* exhausted(const exhaustion_request& request, Retry&&) noexcept {
    if (pool->block_size() < request.size_bytes || pool->alignment() < request.alignment) {
      ashlar_fault({fault_kind::wrong_size, "allocate", nullptr, pool->block_size(), request.pool});
    }
    return pool->try_allocate();
  }
  void give_back(void* p, const exhaustion_request&) noexcept { pool->deallocate(p); }
  void give_back(void* p) noexcept { pool->deallocate(p); }

  Pool* pool;
};

/// Takes the block from a page source, one piece a block, and gives it back there when it is freed.
/// An address that came from neither is for the source to judge: the pool cannot tell it from a
/// loan. Requires: `source` outlives the borrower.
template <page_source Source>
struct upstream {
  using policy_kind = exhaustion_kind;
  static constexpr bool nothrow = true;
  static constexpr bool may_return_null = true;
  static constexpr bool borrows = true;

  explicit constexpr upstream(Source& from) noexcept : source(&from) {}

  template <class Retry>
  void* exhausted(const exhaustion_request& request, Retry&&) noexcept {
    return source->allocate(request.size_bytes, request.alignment);
  }
  void give_back(void* p, const exhaustion_request& request) noexcept {
    source->deallocate(p, request.size_bytes, request.alignment);
  }
  void give_back(void* p) noexcept
    requires requires(Source& s) { s.deallocate(p); }
  {
    source->deallocate(p);
  }

  Source* source;
};

}  // namespace exhaustion
}  // namespace ashlar
