// core/tagged_stack.hpp: a stack of block numbers for many callers at once, without a lock.
// Layer: core (freestanding). All functions thread-safe and lock-free.
//
//   head: | tag | index + 1 |     one word, changed by compare-and-swap; 0 in the low half: empty
//   links[i]: index + 1 of the block under block i; kept outside the blocks
//
// Law: every successful change of head adds one to the tag. A caller that was interrupted between
// reading links[i] and its compare-and-swap therefore fails even if block i was popped and pushed
// again meanwhile (the ABA problem), unless exactly 2^32 (2^16) changes came between.
// The links are outside the blocks because a late reader may still read the link of a block that
// already has an owner; inside, that would be a data race with the owner's writes.
// The word that is all zero bits is the empty stack, so a static one needs no initialisation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

template <class Word>
class tagged_stack {
  static_assert(
      std::atomic<Word>::is_always_lock_free,
      "lock_free: this processor changes no word of this size in one step, so the compiler would "
      "call a library that takes a lock; lock_free<std::uint32_t> may do, else interrupt_mask");

 public:
  using index_type =
      std::conditional_t<sizeof(Word) == sizeof(std::uint64_t), std::uint32_t, std::uint16_t>;
  static constexpr index_type none = std::numeric_limits<index_type>::max();
  /// Indices are 0 ... max_count - 1: index + 1 must fit, and `none` stays apart.
  static constexpr std::size_t max_count = std::size_t{none} - 1;

  constexpr tagged_stack() noexcept = default;
  tagged_stack(const tagged_stack&) = delete;
  tagged_stack& operator=(const tagged_stack&) = delete;

  /// Requires: i < max_count is not on the stack. Synchronises with the pop that returns i.
  void push(index_type* links, index_type i) noexcept {
    Word head = head_.load(std::memory_order_relaxed);
    Word next;
    do {
      std::atomic_ref(links[i]).store(top(head), std::memory_order_relaxed);
      next = make(head, static_cast<index_type>(i + 1));
    } while (!head_.compare_exchange_weak(head, next, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  /// Returns: the index pushed last, or `none` when the stack was empty.
  index_type pop(index_type* links) noexcept {
    Word head = head_.load(std::memory_order_acquire);
    Word next;
    do {
      if (top(head) == 0) return none;
      // May be out of date, and then the compare-and-swap fails by the tag.
      const index_type below =
          std::atomic_ref(links[top(head) - 1]).load(std::memory_order_relaxed);
      next = make(head, below);
    } while (!head_.compare_exchange_weak(head, next, std::memory_order_acquire,
                                          std::memory_order_acquire));
    return static_cast<index_type>(top(head) - 1);
  }

  /// Calls visit(index) from the top; stops when it returns false. Only while nobody else calls.
  template <class Visit>
  void walk(const index_type* links, Visit visit) const noexcept {
    index_type t = top(head_.load(std::memory_order_acquire));
    while (t != 0) {
      const auto i = static_cast<index_type>(t - 1);
      if (!visit(i)) return;
      t = links[i];
    }
  }

 private:
  static constexpr int half = std::numeric_limits<index_type>::digits;

  static constexpr index_type top(Word head) noexcept { return static_cast<index_type>(head); }
  static constexpr Word make(Word previous, index_type new_top) noexcept {
    return static_cast<Word>((((previous >> half) + 1) << half) | new_top);
  }

  std::atomic<Word> head_{0};
};

}  // namespace ashlar::detail
