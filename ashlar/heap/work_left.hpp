// heap/work_left.hpp: how much a call may still do that is not its own request.
// Layer: heap.
//
//   a call's miss:  work_left --> stacks that close, blocks that are sorted back, slabs that are
//                                 searched, runs that are given back; the rest waits for later misses
//
// Law: a piece of work begins only while something is left, and spends what it costs. So all pieces
// of one call cost `instructions` at most, and one piece more (call_bound.hpp has the sum).
// Thread-safety: none; each call has its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ashlar::detail {

/// What one piece costs at most, in instructions of x86-64 (gcc 12, Release), system calls left
/// out. tests/bounds finds calls that would exceed their sum.
namespace cost {
inline constexpr std::size_t class_counted = 32;    ///< how much rests of it
inline constexpr std::size_t class_asked = 128;     ///< locking it and reading its counts
inline constexpr std::size_t stack_seen = 24;       ///< whether a stack of a cache rests
inline constexpr std::size_t stack_emptied = 256;   ///< it goes to its stash, by one copy
inline constexpr std::size_t slab_found = 96;       ///< that a block goes back to
inline constexpr std::size_t stretch_sorted = 48;   ///< blocks side by side, back in their slab
inline constexpr std::size_t block_of_stretch = 4;  ///< each of them
inline constexpr std::size_t slab_removed = 400;    ///< an empty slab becomes a free run
inline constexpr std::size_t slab_taken_from = 160;
inline constexpr std::size_t word_of_slab = 6;  ///< of the bitmap that is searched for a free block
inline constexpr std::size_t run_passed = 16;   ///< on the way to the next slab or the next old run
inline constexpr std::size_t slab_searched = 256;  ///< for free pages
inline constexpr std::size_t page_of_slab = 80;
inline constexpr std::size_t pages_purged = 128;  ///< a stretch of them
constexpr std::size_t of_search(std::size_t pages) noexcept {
  return slab_searched + pages * page_of_slab + (pages + 1) / 2 * pages_purged;
}
inline constexpr std::size_t run_purged = 700;
}  // namespace cost

class work_left {
 public:
  explicit constexpr work_left(std::size_t instructions) noexcept : left_(instructions) {}

  /// For callers who wait for all of it. As good as endless.
  [[nodiscard]] static constexpr work_left endless() noexcept { return work_left(SIZE_MAX); }

  [[nodiscard]] constexpr bool any() const noexcept { return left_ != 0; }
  /// Returns: whether a piece of that size may begin. If not, nothing is left: it comes first next
  /// time, or smaller ones would keep it waiting for ever.
  [[nodiscard]] constexpr bool affords(std::size_t instructions) noexcept {
    if (left_ < instructions) left_ = 0;
    return left_ != 0;
  }
  constexpr void spend(std::size_t instructions) noexcept {
    left_ -= std::min(left_, instructions);
  }

 private:
  std::size_t left_;
};

}  // namespace ashlar::detail
