// check/live_look.hpp: one thread looks at live blocks that other threads may free meanwhile.
// Layer: check.
//
//   a thread that looks:   announces blocks --> every thread passes a fence
//                          --> reads words and canaries --> ends
//   a thread that frees:   the block's word is zero --> is it announced? then it waits
//                          --> clears the rest
//
// Either the look sees that the word is gone, or the free sees the announcement and waits. So a
// block whose word is there keeps its canary until the look has ended, and what is spoilt was
// spoilt by the program. The fence is the look's (os/thread_fence.hpp): a free pays for two loads
// and a comparison.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/thread_fence.hpp>

namespace ashlar::detail {

/// One for all blocks of a heap. `Thread` is any address that no two threads share.
class live_look {
 public:
  using thread_mark = const void*;

  constexpr live_look() noexcept = default;

  /// Returns: whether the calling thread has the turn to look now, until `leave`: not where another
  /// thread has it, or this one, which a signal handler interrupted.
  [[nodiscard]] bool take_turn(thread_mark self) noexcept {
    thread_mark nobody = nullptr;
    return looker_.compare_exchange_strong(nobody, self, std::memory_order_acquire);
  }
  /// Requires: the calling thread has the turn.
  void leave() noexcept { looker_.store(nullptr, std::memory_order_release); }
  [[nodiscard]] bool is_turn_of(thread_mark self) const noexcept {
    return looker_.load(std::memory_order_relaxed) == self;
  }

  /// Effects: until `end`, a thread that frees a block that begins in [first, first + bytes) waits
  /// before it clears the block. Returns: false where the system has no such fence; then there is
  /// nothing to end. Requires: the calling thread has the turn. Some microseconds.
  [[nodiscard]] bool begin(const void* first, std::size_t bytes) noexcept {
    is_disturbed_ = false;
    first_.store(number_of(first), std::memory_order_relaxed);
    bytes_.store(bytes, std::memory_order_release);
    if (os::fence_all_threads()) return true;
    static_cast<void>(end());
    return false;
  }
  /// Effects: the threads that wait go on. Returns: whether what was seen can be believed: no
  /// signal handler has freed one of the blocks in the thread that looks. Requires: `begin`
  /// returned true.
  [[nodiscard]] bool end() noexcept {
    const bool is_believed = !is_disturbed_;
    bytes_.store(0, std::memory_order_release);
    return is_believed;
  }
  /// Effects: no other thread looks any more. For the child of a fork, where it does not exist.
  void forget_others(thread_mark self) noexcept {
    if (is_turn_of(self)) return;
    bytes_.store(0, std::memory_order_relaxed);
    looker_.store(nullptr, std::memory_order_relaxed);
  }

  /// Effects: waits while `block` is announced. Requires: the block's word is zero already.
  ASHLAR_HOT void await(const void* block, thread_mark self) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the fence itself is the look's
    if (is_announced(block)) [[unlikely]]
      wait(block, self);
  }

 private:
  [[nodiscard]] static std::uintptr_t number_of(const void* block) noexcept {
    return reinterpret_cast<std::uintptr_t>(block);
  }
  /// After an announcement that has ended, it may be told of the next one's first block: then a
  /// free waits in vain.
  [[nodiscard]] ASHLAR_HOT bool is_announced(const void* block) const noexcept {
    const std::size_t bytes = bytes_.load(std::memory_order_acquire);
    return number_of(block) - first_.load(std::memory_order_relaxed) < bytes;
  }
  ASHLAR_COLD void wait(const void* block, thread_mark self) noexcept {
    if (is_turn_of(self)) {
      is_disturbed_ = true;
      return;
    }
    // A look takes some microseconds, unless its thread has to wait for a processor.
    for (int round = 0; is_announced(block); ++round)
      if (round < 1000)
        cpu_relax();
      else
        os::pause_us(50);
  }

  std::atomic<std::uintptr_t> first_{0};      ///< where the announced blocks begin
  std::atomic<std::size_t> bytes_{0};         ///< and what they have; 0: none is announced
  std::atomic<thread_mark> looker_{nullptr};  ///< the thread that has the turn
  bool is_disturbed_ = false;                 ///< of the thread that looks, and its signal handlers
};

}  // namespace ashlar::detail
