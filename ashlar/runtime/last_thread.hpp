// runtime/last_thread.hpp: the process ends with its last thread, though nobody saw the ends of
// all.
// Layer: runtime.
//
// The library's threads must end before the program's last one. The last cache's end tells when.
// But a thread that uses the heap first in its last round of destructors leaves a cache, and no end
// is told. So once no thread is left whose end is certain to be seen, a thread of this kind asks
// the system now and then whether only the library's threads are left. Then it ends those, and is
// the last: what is left to do at exit runs on it, with a large stack and the program's files.
//
//   absent -> present   no thread is seen, and the library's threads run or may begin to
//   present -> absent   it is the last thread
//   present -> ending -> absent, or present again: the last cache has gone
#pragma once

#include <atomic>

#include <ashlar/os/service_thread.hpp>

namespace ashlar::runtime {

class last_thread {
 public:
  constexpr last_thread() noexcept = default;
  last_thread(const last_thread&) = delete;
  last_thread& operator=(const last_thread&) = delete;

  /// Effects: the thread whose `self` is at `thread` lives, and its end is certain to be told;
  /// null: none is known.
  void see(const void* thread) noexcept { seen_.store(thread, std::memory_order_release); }
  [[nodiscard]] bool is_seen(const void* thread) const noexcept {
    return seen_.load(std::memory_order_acquire) == thread;
  }

  /// Effects: starts the thread, unless it is there or a thread is seen. Requires: no lock of the
  /// library's is held, nor one of the system's that starting a thread takes (background.hpp).
  void start_if_needed() noexcept;
  /// Effects: the thread ends soon, if it is there.
  void stop() noexcept;
  /// Effects: there is no thread. For the child of a fork.
  void forget() noexcept { state_.store(state::absent, std::memory_order_relaxed); }

 private:
  enum class state : unsigned { absent, present, ending };

  [[nodiscard]] bool change(state from, state to) noexcept {
    return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }
  [[nodiscard]] static bool wait() noexcept;
  static void end_services() noexcept;

  std::atomic<const void*> seen_{nullptr};
  std::atomic<state> state_{state::absent};
  os::bell bell_;
  os::program_thread thread_{wait, end_services};
};

extern last_thread the_last_thread;

}  // namespace ashlar::runtime
