// heap/exact_counts.hpp: what every single call did, counted when somebody asked for it.
// Layer: heap. Includes: core.
//
// Invariant: in use == allocations - frees; slack is the sum over blocks in use of block size minus
// requested size. The requested size itself is kept outside of the block (page_range's slack
// table).
#pragma once

#include <atomic>
#include <cstdint>

namespace ashlar::detail {

/// The counters of one class. Thread-safe; each figure is exact, a set of them is not one moment's.
class exact_counts {
 public:
  void allocated(std::uint64_t slack) noexcept {
    allocations_.fetch_add(1, std::memory_order_relaxed);
    slack_.fetch_add(slack, std::memory_order_relaxed);
    // Signed: a free may be counted before the allocation that another thread is still counting.
    const std::int64_t now = in_use_.fetch_add(1, std::memory_order_relaxed) + 1;
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void freed(std::uint64_t slack) noexcept {
    in_use_.fetch_sub(1, std::memory_order_relaxed);
    frees_.fetch_add(1, std::memory_order_relaxed);
    slack_.fetch_sub(slack, std::memory_order_relaxed);
  }
  void resized(std::uint64_t slack_before, std::uint64_t slack_after) noexcept {
    slack_.fetch_add(slack_after - slack_before, std::memory_order_relaxed);
  }
  /// Effects: counts blocks that were in use before counting began.
  void begin_with(std::uint64_t in_use) noexcept {
    allocations_.store(in_use, std::memory_order_relaxed);
    in_use_.store(static_cast<std::int64_t>(in_use), std::memory_order_relaxed);
    peak_.store(static_cast<std::int64_t>(in_use), std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t allocations() const noexcept {
    return allocations_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t frees() const noexcept {
    return frees_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t peak() const noexcept {
    return static_cast<std::uint64_t>(peak_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uint64_t slack() const noexcept {
    return slack_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> allocations_{0}, frees_{0}, slack_{0};
  std::atomic<std::int64_t> in_use_{0}, peak_{0};
};

}  // namespace ashlar::detail
