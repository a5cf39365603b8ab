// compat/user_locks.hpp: the classic xallocator's four lock functions, defined by the program.
// Layer: compat. Allocates nothing; no header of an operating system.
//
//   XALLOCATOR_STATIC_POOLS(ashlar::blocks<396, 20>, ashlar::user_locks)
//   extern "C" void lock_init(void) { ... }   and lock_get, lock_release, lock_destroy
//
// Law: lock_get is called only between lock_init and lock_destroy, and lock_release only after a
// lock_get: so static constructors and destructors may use xmalloc, while the program's lock does
// not exist yet or no more. Outside of that span the program must have one thread that allocates.
#pragma once

#include <atomic>

#include <ashlar/core/policy.hpp>

extern "C" {
/* Makes the lock; called once by the first xalloc_init, before main where that is automatic. */
void lock_init(void);
/* Waits for the lock and takes it. Never called by a thread that has it. Must not throw. */
void lock_get(void);
void lock_release(void);
/* Called by the last xalloc_destroy, by a thread that does not have the lock. */
void lock_destroy(void);
}

namespace ashlar {

/// Policy: the four functions. All objects of this type are one lock.
class user_locks {
 public:
  using policy_kind = lock_kind;

  constexpr user_locks() noexcept = default;
  user_locks(const user_locks&) = delete;
  user_locks& operator=(const user_locks&) = delete;

  void lock() noexcept {
    if (!started_.load(std::memory_order_relaxed)) return;
    lock_get();
    taken_ = true;
  }
  /// Not by `started_`, which another thread's stop() may have changed since.
  void unlock() noexcept {
    if (!taken_) return;
    taken_ = false;
    lock_release();
  }

  /// Effects: lock_init, unless it was called already. Requires: one thread.
  static void start() noexcept {
    if (started_.load(std::memory_order_relaxed)) return;
    lock_init();
    started_.store(true, std::memory_order_relaxed);
  }
  /// Effects: lock_destroy, unless there is no lock. Requires: one thread.
  static void stop() noexcept {
    if (!started_.load(std::memory_order_relaxed)) return;
    started_.store(false, std::memory_order_relaxed);
    lock_destroy();
  }

 private:
  static inline constinit std::atomic<bool> started_{false};
  bool taken_ = false;  ///< written by who has the lock
};

}  // namespace ashlar
