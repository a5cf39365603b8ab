// core/lock_policy.hpp: who may call an allocator at the same time.
// Layer: core (freestanding).
// Law: what lock() changed, unlock() restores; nothing is held while code of the caller runs.
//
//   no_lock               one owner, or one lock around it that the caller holds; no instruction
//   std::mutex, ...       any type with lock() and unlock()
//   spin_lock             a few instructions held by a thread that runs; not for a single core with
//                         priorities (a waiter of higher priority would spin for ever)
//   interrupt_mask<Port>  one core, threads and interrupt handlers
//   lock_free<Word>       many cores or interrupt handlers, no waiting; needs compare-and-swap
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include <ashlar/core/byte_exchange.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/policy.hpp>

namespace ashlar {

/// Policy: no locking.
struct no_lock {
  using policy_kind = lock_kind;
  constexpr void lock() noexcept {}
  constexpr void unlock() noexcept {}
};

/// Policy: busy waiting. lock() is an acquire, unlock() a release operation; not recursive, not
/// fair.
class spin_lock {
 public:
  using policy_kind = lock_kind;

  constexpr spin_lock() noexcept = default;
  spin_lock(const spin_lock&) = delete;
  spin_lock& operator=(const spin_lock&) = delete;

  void lock() noexcept {
    // Waiters read, and write only when it may succeed: a write by each would pass the cache line
    // around all the time.
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) detail::cpu_relax();
    }
  }
  [[nodiscard]] bool try_lock() noexcept {
    return !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<detail::exchangeable<bool>> held_{false};
};

/// A port to a processor's interrupt mask.
///   Port::save_and_disable()  masks interrupts, returns what the mask was
///   Port::restore(state)      sets the mask to what it was; never enables blindly
/// Both must keep the compiler from moving memory accesses across them.
template <class Port>
concept interrupt_port = requires {
  { Port::save_and_disable() } noexcept;
  { Port::restore(Port::save_and_disable()) } noexcept;
};

/// Policy: interrupts are masked for the call. For one core only. Locks of different allocators
/// nest in the order of calls, since each restores what it found.
template <interrupt_port Port>
class interrupt_mask {
 public:
  using policy_kind = lock_kind;

  constexpr interrupt_mask() noexcept = default;
  interrupt_mask(const interrupt_mask&) = delete;
  interrupt_mask& operator=(const interrupt_mask&) = delete;

  // The state may live here, and not with each caller, because there is one holder at a time: it is
  // written after the mask is set and read before the mask is restored.
  void lock() noexcept { saved_ = Port::save_and_disable(); }
  void unlock() noexcept { Port::restore(saved_); }

 private:
  decltype(Port::save_and_disable()) saved_{};
};

/// The port of Arm Cortex-M cores (all of them: PRIMASK exists on the smallest). The state is a
/// word of the processor, so that clang does not warn of the registers where this is compiled for
/// AArch64, and not used.
struct cortex_m_primask {
  static std::uintptr_t save_and_disable() noexcept {
    std::uintptr_t state;
    asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(state)::"memory");
    return state;
  }
  static void restore(std::uintptr_t state) noexcept {
    asm volatile("msr primask, %0" ::"r"(state) : "memory");
  }
};

/// The port of RISC-V cores in machine mode: MIE of mstatus. The compiler needs -march with zicsr.
struct riscv_mstatus {
  static constexpr std::uintptr_t enabled = 8;
  static std::uintptr_t save_and_disable() noexcept {
    std::uintptr_t state;
    asm volatile("csrrci %0, mstatus, 8" : "=r"(state)::"memory");
    return state;
  }
  static void restore(std::uintptr_t state) noexcept {
    asm volatile("csrs mstatus, %0" ::"r"(state & enabled) : "memory");
  }
};

/// Policy: a stack of tagged indices (core/tagged_stack.hpp). `Word` holds index and tag by halves:
/// 64 bits give 2^32 - 2 blocks and a tag of 32 bits, 32 bits give 65,534 blocks and a tag of 16.
/// A processor that cannot compare and swap the word is a compile error (Cortex-M: 64 bits;
/// Cortex-M0: any word): take 32 bits, or interrupt_mask.
template <class Word = std::uint64_t>
  requires(std::same_as<Word, std::uint64_t> || std::same_as<Word, std::uint32_t>)
struct lock_free {
  using policy_kind = lock_kind;
  using word_type = Word;
};

namespace detail {

template <class L>
inline constexpr bool is_lock_free_policy = false;
template <class Word>
inline constexpr bool is_lock_free_policy<lock_free<Word>> = true;

/// Returns: whether a call that starts no thread needs no lock, since nobody else could wait for
/// it. A lock may have a member is_alone() that tells, as os::mutex has.
template <class Lock>
[[nodiscard]] ASHLAR_HOT constexpr bool is_alone(const Lock& lock) noexcept {
  if constexpr (requires { lock.is_alone(); }) {
    return lock.is_alone();
  } else {
    return std::same_as<Lock, no_lock>;
  }
}

/// Holds a lock for a scope; a throw releases it too.
template <class Lock>
class scoped_lock {
 public:
  ASHLAR_HOT explicit scoped_lock(Lock& lock) : lock_(lock) { lock_.lock(); }
  ASHLAR_HOT ~scoped_lock() { lock_.unlock(); }
  scoped_lock(const scoped_lock&) = delete;
  scoped_lock& operator=(const scoped_lock&) = delete;

 private:
  Lock& lock_;
};

}  // namespace detail
}  // namespace ashlar
