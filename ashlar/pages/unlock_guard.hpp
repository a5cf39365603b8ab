// pages/unlock_guard.hpp: std::lock_guard's inverse, for a system call in a locked stretch.
// Layer: pages. std::unique_lock would do, but it can throw, and this layer names no throw.
#pragma once

namespace ashlar::detail {

/// Opens a held lock for its own lifetime. What the lock protects may have changed afterwards.
template <class Mutex>
class unlock_guard {
 public:
  explicit unlock_guard(Mutex& mutex) noexcept : mutex_(mutex) { mutex_.unlock(); }
  ~unlock_guard() { mutex_.lock(); }
  unlock_guard(const unlock_guard&) = delete;
  unlock_guard& operator=(const unlock_guard&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace ashlar::detail
