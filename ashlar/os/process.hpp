// os/process.hpp: what a process is told of itself: its environment, its threads' ends, its forks.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar::os {

/// Returns: the environment, as the C library has it; null while that is not set up.
[[nodiscard]] char** environment() noexcept;

/// Returns: whether the program was linked statically, so that no loader knows its files.
[[nodiscard]] bool is_static_program() noexcept;

/// Returns: whether the process has more rights than the user who started it (set-user-ID).
[[nodiscard]] bool has_more_rights() noexcept;

/// Returns: the system's number of this process.
[[nodiscard]] std::size_t process_number() noexcept;

/// Effects: process_number needs no system call where none may be made (call_filter.hpp).
/// Requires: the calling thread is the process's first one.
void note_process_number() noexcept;

/// Returns: the system's number of the calling thread, asked anew (call_stack.hpp has one that
/// remembers it).
[[nodiscard]] std::size_t new_thread_number() noexcept;

/// Returns: whether the process's first thread has ended, and no more than `count` others are left.
/// False where the system does not tell.
[[nodiscard]] bool are_last_threads(unsigned count) noexcept;

/// Tells that a thread ends. An object of static storage.
class thread_end {
 public:
  constexpr thread_end() noexcept = default;
  thread_end(const thread_end&) = delete;
  thread_end& operator=(const thread_end&) = delete;

  /// Effects: from now on `ended` is called with what a thread has given to `watch`, on that
  /// thread, when it ends, while its thread-local objects are still there. Requires: called once.
  void start(void (*ended)(void*) noexcept) noexcept;

  /// Effects: the calling thread's end will be told with `value`, not null. The system may
  /// allocate.
  /// Returns: false when the system refuses.
  [[nodiscard]] bool watch(void* value) noexcept;

 private:
  std::uint32_t key_ = 0;
  bool is_valid_ = false;
};

/// Effects: around each fork of the process these are called, on the thread that forks: the last
/// registered first before it, the first registered first after it. Where the system has no fork,
/// nothing.
void at_fork(void (*before)() noexcept, void (*in_parent)() noexcept,
             void (*in_child)() noexcept) noexcept;

}  // namespace ashlar::os
