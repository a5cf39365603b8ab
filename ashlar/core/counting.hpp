// core/counting.hpp: whether an allocator counts its calls.
// Layer: core (freestanding).
// Invariant: blocks in use == allocations - frees (modulo the width of std::size_t, so it stays
// right when the counters of a small machine wrap).
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

#include <ashlar/core/config.hpp>
#include <ashlar/core/policy.hpp>

namespace ashlar {
namespace counting {
/// Policy: no counter, no instruction. Statistics then walk the free list.
struct none {
  using policy_kind = counting_kind;
  static constexpr bool counts = false;
};
/// Policy: every allocation and every free is counted, exactly.
struct exact {
  using policy_kind = counting_kind;
  static constexpr bool counts = true;
};
}  // namespace counting

namespace detail {

/// Counters of an allocator that has one caller at a time. No peak: a pool that makes a block only
/// when all made blocks are in use has made exactly as many as its peak.
struct call_counters {
  std::size_t allocations = 0;
  std::size_t frees = 0;

  ASHLAR_HOT void allocated() noexcept { ++allocations; }
  ASHLAR_HOT void not_allocated() noexcept { --allocations; }
  ASHLAR_HOT void freed() noexcept { ++frees; }
  [[nodiscard]] std::size_t in_use() const noexcept { return allocations - frees; }
};

/// The same where blocks rest elsewhere (a quarantine), so that the peak needs its own word.
struct peak_counters : call_counters {
  std::size_t highest = 0;

  void allocated() noexcept {
    call_counters::allocated();
    if (in_use() > highest) highest = in_use();
  }
  [[nodiscard]] std::size_t peak() const noexcept { return highest; }
};

/// The same for many callers. A block counts as in use from after it was taken until before it is
/// given back, so `in_use` never exceeds what callers hold, nor `peak` the capacity.
struct atomic_counters {
  std::atomic<std::size_t> allocations{0};
  std::atomic<std::size_t> frees{0};
  std::atomic<std::size_t> used{0};
  std::atomic<std::size_t> highest{0};

  void allocated() noexcept {
    allocations.fetch_add(1, std::memory_order_relaxed);
    const std::size_t now = used.fetch_add(1, std::memory_order_relaxed) + 1;
    std::size_t seen = highest.load(std::memory_order_relaxed);
    while (seen < now && !highest.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void freed() noexcept {
    used.fetch_sub(1, std::memory_order_relaxed);
    frees.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t in_use() const noexcept { return used.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t peak() const noexcept {
    return highest.load(std::memory_order_relaxed);
  }
};

struct no_counters {
  ASHLAR_HOT constexpr void allocated() noexcept {}
  ASHLAR_HOT constexpr void not_allocated() noexcept {}
  ASHLAR_HOT constexpr void freed() noexcept {}
};

template <class Counting, bool ManyCallers, bool OwnPeak>
using counters_for = std::conditional_t<
    !Counting::counts, no_counters,
    std::conditional_t<ManyCallers, atomic_counters,
                       std::conditional_t<OwnPeak, peak_counters, call_counters>>>;

}  // namespace detail
}  // namespace ashlar
