// heap/exact_counting.hpp: what every single call did, counted when somebody asked for it.
// Layer: heap.
//
//   slack table   0 where no live block starts, else the block's slack + 1   (page_range.hpp)
//   counters      one set a class; set 0 is that of large blocks
//
// The caller brings every call here; no hit path does. Because the table knows where live blocks
// start, a double free is found at once. The requested size is kept outside of the block.
//
// Invariant: in use == allocations - frees; slack is the sum over blocks in use of block size minus
// requested size.
// Thread-safety: any caller at any time, but for `begin`.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/fault.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/class_table.hpp>

namespace ashlar::detail {

/// The counters of one class. Thread-safe; each figure is exact, a set of them is not one moment's.
class exact_counts {
 public:
  void allocated(std::uint64_t slack) noexcept {
    allocations_.fetch_add(1, std::memory_order_relaxed);
    slack_.fetch_add(static_cast<std::int64_t>(slack), std::memory_order_relaxed);
    // Signed: a free may be counted before the allocation that another thread is still counting.
    const std::int64_t now = in_use_.fetch_add(1, std::memory_order_relaxed) + 1;
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void freed(std::uint64_t slack) noexcept {
    in_use_.fetch_sub(1, std::memory_order_relaxed);
    frees_.fetch_add(1, std::memory_order_relaxed);
    slack_.fetch_sub(static_cast<std::int64_t>(slack), std::memory_order_relaxed);
  }
  void resized(std::uint64_t slack_before, std::uint64_t slack_after) noexcept {
    slack_.fetch_add(static_cast<std::int64_t>(slack_after - slack_before),
                     std::memory_order_relaxed);
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
    return static_cast<std::uint64_t>(slack_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<std::uint64_t> allocations_{0}, frees_{0};
  std::atomic<std::int64_t> in_use_{0}, peak_{0}, slack_{0};
};

/// A block by its address: how many bytes it has (0: no block of this heap starts there, or it is
/// not known to), and its class (0: it is large).
struct found_block {
  std::size_t bytes = 0;
  class_index size_class = 0;
};

template <class Pages>
class exact_counting {
 public:
  [[nodiscard]] bool is_on() const noexcept { return is_on_; }

  /// Effects: counts from now on, beginning with the blocks in use that `before` tells of.
  /// Requires: pages.keep_slack() succeeded; no other thread is inside the heap. O(blocks).
  void begin(Pages& pages, const class_table& classes, const ashlar_stats& before) noexcept {
    for (std::size_t c = 1; c < classes.count; ++c)
      counts_[c].begin_with(before.classes[c - 1].blocks_in_use);
    counts_[0].begin_with(before.large.blocks_in_use);
    pages.mark_held(classes.shapes.data(), live_entry);
    is_on_ = true;
  }

  /// Effects: counts that a request for `size` bytes got the block `b` at `block`.
  void allocated(Pages& pages, const void* block, const found_block& b, std::size_t size) noexcept {
    const std::size_t slack = countable_slack(b.bytes - size);
    pages.exchange_slack(block, slack + live_entry);
    counts_[b.size_class].allocated(slack);
  }
  /// Effects: counts the end of a block. Returns: false after a fault naming `call`: no live block
  /// starts there. So do the functions below.
  bool freed(Pages& pages, const void* block, const found_block& b, const char* call) noexcept {
    const std::size_t slack = take_slack(pages, block, b, call);
    if (slack == none) return false;
    counts_[b.size_class].freed(slack);
    return true;
  }
  /// Effects: counts that a live block stayed and now serves `size` bytes. Finds no fault.
  void resized(Pages& pages, const void* block, const found_block& b, std::size_t size) noexcept {
    const std::size_t slack = countable_slack(b.bytes - size);
    const std::size_t before = pages.exchange_slack(block, slack + live_entry);
    counts_[b.size_class].resized(before - live_entry, slack);
  }
  /// Effects: none but the fault, which is wrong_size when `block` was not noted with `size`.
  bool expect_size(Pages& pages, const void* block, const found_block& b, std::size_t size,
                   const char* call) noexcept {
    const std::size_t slack = take_slack(pages, block, b, call);
    if (slack == none) return false;
    pages.exchange_slack(block, slack + live_entry);
    if (size <= b.bytes && countable_slack(b.bytes - size) == slack) return true;
    ashlar_misuse({.kind = fault_kind::wrong_size,
                   .call = call,
                   .address = block,
                   .block_size = b.bytes - slack,
                   .pool = pages.name()});
    return false;
  }

  /// Effects: `s` has the exact figures of class `c`, if they are counted.
  void overwrite(ashlar_class_stats& s, class_index c) const noexcept {
    if (!is_on_) return;
    const exact_counts& n = counts_[c];
    // Frees first: while others run, the difference may then be old, but never below zero.
    s.frees = n.frees();
    s.allocations = n.allocations();
    s.blocks_in_use = s.allocations - s.frees;
    s.peak_in_use = n.peak();
    if (s.block_size != 0) s.peak_bytes = s.peak_in_use * s.block_size;
    s.slack_bytes = n.slack();
  }

 private:
  /// What a live block's entry is more than its slack.
  static constexpr std::size_t live_entry = 1;

  /// What is added for a block must be what its table entry can take off again.
  [[nodiscard]] static std::size_t countable_slack(std::size_t slack) noexcept {
    return std::min(slack, UINT16_MAX - live_entry);
  }

  /// No slack: no live block is there.
  static constexpr std::size_t none = SIZE_MAX;

  /// Effects: no live block starts at `block` any more. Returns: the slack of the one that did;
  /// `none` after a fault: none did.
  [[nodiscard]] std::size_t take_slack(Pages& pages, const void* block, const found_block& b,
                                       const char* call) noexcept {
    const std::size_t before = pages.exchange_slack(block, 0);
    if (before >= live_entry) return before - live_entry;
    ashlar_misuse({.kind = fault_kind::double_free,
                   .call = call,
                   .address = block,
                   .block_size = b.size_class != 0 ? b.bytes : 0,
                   .pool = pages.name()});
    return none;
  }

  bool is_on_ = false;
  exact_counts counts_[class_count];
};

}  // namespace ashlar::detail
