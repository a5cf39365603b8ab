// os/service_thread.hpp: a thread of the library's own, and what it sleeps on.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ashlar::os {

/// What one thread sleeps on until another rings. A ring that nobody waited for is kept, once.
class bell {
 public:
  constexpr bell() noexcept = default;
  bell(const bell&) = delete;
  bell& operator=(const bell&) = delete;

  static constexpr std::int64_t for_ever = -1;

  /// Effects: sleeps until a ring, or for `ms`. May return earlier. Keeps errno.
  void wait(std::int64_t ms) noexcept;

  /// Effects: wakes the thread that waits, or the next that does. At most one system call. Keeps
  /// errno.
  void ring() noexcept;

  /// Effects: forgets a ring, and who waited: for the child of a fork.
  void reset() noexcept { rung_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> rung_{0};
};

/// A thread that serves the library. It blocks every signal, and has the name "ashlar" and a small
/// stack: `stack_bytes`, and what the process's thread-local objects need. Keeps errno; no
/// cancellation point.
class service_thread {
 public:
  static constexpr std::size_t small_stack = std::size_t{64} * 1024;

  constexpr service_thread() noexcept = default;

  /// Effects: starts a thread that calls `work`. Returns: false when the system refuses one, or a
  /// sandbox may not allow it.
  /// Requires: no lock of the library's is held (the system allocates for a thread); it has no
  /// thread yet, or the last one was joined.
  [[nodiscard]] bool start(void (*work)() noexcept, std::size_t stack_bytes = small_stack) noexcept;

  /// Effects: waits until the thread has ended. Returns: false if that took longer than `ms`; then
  /// it goes on, and nobody waits for it any more. Requires: it was started; the caller is another
  /// thread.
  [[nodiscard]] bool join_within(unsigned ms) noexcept;

 private:
  [[nodiscard]] static void* work_and_tell(void* self) noexcept;

  std::uintptr_t handle_ = 0;
  void (*work_)() noexcept = nullptr;
  bell end_;
  std::atomic<bool> has_ended_{false};
};

/// Starts a thread as the program has them, with a stack of the usual size. An object of static
/// storage.
class program_thread {
 public:
  constexpr program_thread(bool (*wait)() noexcept, void (*work)() noexcept) noexcept
      : wait_(wait), work_(work) {}

  /// Effects: the thread blocks every signal and calls `wait`. Then it has the signals that the
  /// caller of `start` has, and calls `work` if `wait` returned true. Nobody waits for its end.
  /// Returns: false when the system refuses one, or a sandbox may not allow it. Requires: as
  /// service_thread::start.
  [[nodiscard]] bool start() noexcept;

 private:
  [[nodiscard]] static void* run(void* self) noexcept;

  bool (*wait_)() noexcept;
  void (*work_)() noexcept;
  std::uint64_t blocked_[2] = {};  ///< signals that the caller of `start` blocks
};

}  // namespace ashlar::os
