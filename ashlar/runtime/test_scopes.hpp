// runtime/test_scopes.hpp: the calling thread's test scopes, through which its misses go.
// Layer: runtime. For the process heap's own source files.
//
// A thread with an open scope does not hit: its tops are empty ones, as where a check looks at
// calls. So each of its calls comes to a miss, and its scopes are the first front (front.hpp). They
// count the same beside checks, in a hardened process and beside a fork. Other threads keep their
// hits.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/check/test_scopes.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/test_calls.h>
#include <ashlar/heap/shared_heap.hpp>
#include <ashlar/runtime/process_thread.hpp>

namespace ashlar::runtime {

/// While it lives, no call of the calling thread is counted or forbidden: those that the heap makes
/// to serve another, or of a report function.
class scopes_paused {
 public:
  scopes_paused() noexcept : scopes_(std::exchange(self.scopes, nullptr)) {}
  ~scopes_paused() { self.scopes = scopes_; }
  scopes_paused(const scopes_paused&) = delete;
  scopes_paused& operator=(const scopes_paused&) = delete;
  /// Requires: there were scopes.
  [[nodiscard]] detail::test_scopes& scopes() const noexcept { return *scopes_; }

 private:
  detail::test_scopes* scopes_;
};

/// Effects: the scopes that forbid one of `kinds` (test_scopes::for_each_forbidding) are told of
/// the call.
void expect_allowed(detail::test_scopes& scopes, unsigned kinds, const char* call, std::size_t size,
                    const void* block) noexcept;

/// Returns: what serve() returns, a block or null, counted by the thread's scopes.
template <class Serve>
ASHLAR_COLD void* counted_allocation(std::size_t size, const char* call, Serve serve) noexcept {
  const scopes_paused here;
  expect_allowed(here.scopes(), ASHLAR_TEST_ALLOCATIONS, call, size, nullptr);
  void* const block = serve();
  if (block != nullptr) here.scopes().allocated(block, size);
  return block;
}
/// Effects: serve() gives `block` back. The thread's scopes count it.
template <class Serve>
ASHLAR_COLD void counted_free(const void* block, const char* call, Serve serve) noexcept {
  const scopes_paused here;
  expect_allowed(here.scopes(), ASHLAR_TEST_FREES, call, 0, block);
  serve();
  here.scopes().freed(block);
}
/// Returns: what serve() returns: the resized block, null or detail::no_block(). The thread's
/// scopes count it.
template <class Serve>
ASHLAR_COLD void* counted_resize(const void* block, std::size_t size, const char* call,
                                 Serve serve) noexcept {
  const scopes_paused here;
  expect_allowed(here.scopes(), ASHLAR_TEST_ALLOCATIONS | ASHLAR_TEST_FREES, call, size, block);
  void* const now = serve();
  if (now != nullptr && now != detail::no_block()) here.scopes().resized(block, now, size);
  return now;
}

/// Effects: the calling thread ends: its scopes do.
void end_test_scopes() noexcept;

/// Returns: the functions of scopes of this process heap, for a program.
[[nodiscard]] const ashlar_test_calls* test_calls() noexcept;

}  // namespace ashlar::runtime

/// What a program finds where it has this process heap (adapt/test_scope.h).
extern "C" const ashlar_test_calls* ashlar_test_calls_of_libashlar();
