// core/number_list.hpp: which blocks are free and which are in use: one number a block, kept beside
// the blocks.
// Layer: core (freestanding). One caller at a time.
//
//   links:  | 0: nobody's | 1 | 2 | ... | end - 1 | not yet written ... |
//
// Law: blocks count from 1. links[n] is `live` while block n is in use; `kept` while it waits in a
// quarantine; else the number of the free block under it, 0 for the last. So one compare tells a
// double free, marking a block is the same write as linking it, and what a program writes into a
// free block is no link that anybody follows.
// Invariant: every number on the list is in [1, end), and there once. end is 0 or 1 + the blocks
// that were ever in use; links[0] is written when the first one is, so no initialisation pass is
// needed, and all zero bits are an empty list.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

template <std::unsigned_integral Link>
class number_list {
 public:
  /// By a pointer to an array and not to its first link: the compiler then makes each access one
  /// address of its own, while it computes an element's address from a pointer first, one
  /// instruction more.
  using array = Link[];

  static constexpr Link live = std::numeric_limits<Link>::max();
  static constexpr Link kept = live - 1;
  /// Numbers are 1 ... max_count.
  static constexpr std::size_t max_count = kept - 1;

  constexpr number_list() noexcept = default;
  /// Returns: the number freed last, 0 when there is none.
  [[nodiscard]] std::size_t first() const noexcept { return first_; }
  [[nodiscard]] constexpr std::size_t carved() const noexcept { return end_ == 0 ? 0 : end_ - 1; }

  /// Returns: whether block `n`, any number at all, is in use.
  [[nodiscard]] ASHLAR_HOT bool is_live(const array* links, std::size_t n) const noexcept {
    return n < end_ && (*links)[n] == live;
  }
  /// Returns: the number freed last, which is live now; 0 when there is none.
  [[nodiscard]] ASHLAR_HOT std::size_t pop(array* links) noexcept {
    const std::size_t n = first_;
    if (n != 0) [[likely]] {
      first_ = (*links)[n];
      (*links)[n] = live;
    }
    return n;
  }
  /// Requires: block `n` was carved, and is not on the list.
  ASHLAR_HOT void push(array* links, std::size_t n) noexcept {
    (*links)[n] = static_cast<Link>(first_);
    first_ = n;
  }
  /// Returns: the number of a block that was never in use, which is live now; 0 when all `capacity`
  /// were.
  [[nodiscard]] std::size_t carve(array* links, std::size_t capacity) noexcept {
    if (end_ == 0) [[unlikely]] {
      if (capacity == 0) return 0;
      (*links)[end_++] = 0;
    }
    if (end_ > capacity) return 0;
    (*links)[end_] = live;
    return end_++;
  }

  /// Returns: how many are on the list; SIZE_MAX if it leaves [1, end) or runs in a circle.
  [[nodiscard]] std::size_t length(const array* links) const noexcept {
    std::size_t n = 0;
    for (std::size_t at = first_; at != 0; at = (*links)[at])
      if (at >= end_ || n++ >= end_) return SIZE_MAX;
    return n;
  }

 private:
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

/// The smallest link that numbers `count` blocks.
template <std::size_t Count>
using link_for = std::conditional_t<
    (Count <= number_list<std::uint8_t>::max_count), std::uint8_t,
    std::conditional_t<(Count <= number_list<std::uint16_t>::max_count), std::uint16_t,
                       std::conditional_t<(Count <= number_list<std::uint32_t>::max_count),
                                          std::uint32_t, std::size_t>>>;

}  // namespace ashlar::detail
