// runtime/background.hpp: a thread of the library's own that gives free memory back.
// Layer: runtime.
//
// Without it, free memory goes back only when a thread misses its cache. With it, a process that
// has stopped allocating gives back, too. One state says who may do what:
//
//   off      -> resting     turn(true)
//   resting  -> asleep      an allocation that missed once the heap has some MiB: the thread starts
//   asleep   -> awake       free memory has grown by a MiB: a free that missed rings the bell
//   awake    -> asleep      several scans in turn gave nothing back: no timer until the next ring
//   asleep or awake -> resting      the last thread with a cache ends: this one stops before it
//   any      -> off         turn(false), a thread that is refused, the end of the process
//   changing: in between, while one thread starts or stops it
//
// Only an allocation starts the thread, never a free: the C library frees memory while it holds the
// lock that starting a thread takes (glibc: its cache of stacks).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/os/service_thread.hpp>

namespace ashlar::runtime {

class background {
 public:
  constexpr background() noexcept = default;
  background(const background&) = delete;
  background& operator=(const background&) = delete;

  /// Effects: allows the thread, or stops it and forbids it. One that was refused is allowed anew.
  /// Returns: whether it was allowed.
  bool turn(bool on) noexcept;

  /// Effects: starts the thread if it is allowed and the heap is large enough. Called by
  /// allocations that missed. Requires: the caller has a cache, and holds no lock of the heap.
  void note_allocation() noexcept {
    if (state_.load(std::memory_order_relaxed) == state::resting) [[unlikely]]
      start_if_worth();
  }

  /// Effects: wakes the thread if it sleeps and there is more for it to do. Called by frees that
  /// missed.
  void note_free() noexcept {
    if (state_.load(std::memory_order_relaxed) == state::asleep) [[unlikely]]
      wake_if_worth();
  }

  /// Effects: ends the thread, if there is one, and waits for that. It is started anew when it is
  /// needed.
  void stop() noexcept { end(state::resting); }

  /// Effects: the same at the end of the process, for good.
  void stop_for_good() noexcept { end(state::off); }

  /// Returns: whether there is a thread, or may be one later.
  [[nodiscard]] bool is_on() const noexcept {
    return state_.load(std::memory_order_relaxed) != state::off;
  }
  [[nodiscard]] bool is_running() const noexcept {
    return state_.load(std::memory_order_relaxed) >= state::asleep;
  }

  /// Effects: there is no thread. For the child of a fork, which has the calling thread only.
  void forget_thread() noexcept;

 private:
  // A word: not every processor exchanges a byte.
  enum class state : unsigned { off, resting, changing, asleep, awake };

  ASHLAR_COLD void start_if_worth() noexcept;
  ASHLAR_COLD void wake_if_worth() noexcept;
  ASHLAR_MISS void end(state last) noexcept;
  [[nodiscard]] bool change(state from, state to) noexcept;
  [[nodiscard]] bool has_more_to_do() noexcept;

  static void run() noexcept;
  void sleep_and_work() noexcept;
  void work() noexcept;
  [[nodiscard]] bool fall_asleep() noexcept;

  std::atomic<state> state_{state::off};
  std::atomic<bool> must_end_{false};
  std::atomic<std::size_t> idle_when_asleep_{
      0};  ///< the heap's idle bytes when the thread fell asleep, or less
  os::bell bell_;
  os::service_thread thread_;
};

extern background the_background;

}  // namespace ashlar::runtime
