// os/mutex.hpp: a lock of four bytes that sleeps in the kernel when it has to wait.
// Layer: os.
//
// state: 0 free, 1 held, 2 held and another thread may sleep. Only a holder sets 0; only a thread
// that waits sets 2.
//
// While the process has one thread, locking and unlocking are plain stores. Only that thread can
// start the second one, so it knows of it from its next call on: an unlock then wakes the thread
// that has come to wait since the lock was taken.
#pragma once

#include <atomic>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/os/single_thread.hpp>

namespace ashlar::os {

/// A Lockable that needs no initialisation, never allocates and never throws; not recursive. In a
/// child of fork the thread that forked may unlock what it had locked before.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      lock_slow();
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t free = 0;
    // Two ifs, each likely: of one with && the compiler puts the atomic exchange first and jumps to
    // the stores.
    if (is_single_threaded()) [[likely]] {
      if (state_.load(std::memory_order_relaxed) == free) [[likely]] {
        state_.store(1, std::memory_order_relaxed);
        return true;
      }
    }
    return state_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  /// Returns: whether the lock is free, and stays so until this thread takes it or starts another.
  [[nodiscard]] bool is_alone() const noexcept {
    return is_single_threaded() && state_.load(std::memory_order_relaxed) == 0;
  }
  void unlock() noexcept {
    if (is_single_threaded()) [[likely]] {
      state_.store(0, std::memory_order_relaxed);
      return;
    }
    if (state_.exchange(0, std::memory_order_release) == 2) [[unlikely]]
      wake_one();
  }

 private:
  ASHLAR_MISS void lock_slow() noexcept;
  ASHLAR_MISS void wake_one() noexcept;

  std::atomic<std::uint32_t> state_{0};
};

}  // namespace ashlar::os
