// heap/live_marks.hpp: a byte for each place where a block may start, which says whether a live one does.
// Layer: heap.
//
//   blocks of 48 bytes   | 0 live      | 48 free     | 96 live     | ...
//   windows of 32 bytes  | 0     | 32    | 64    | 96    | ...
//   marks                  0x01    0       0       0xC1
//
// The mark of a window is 0, or the low byte of 2a + 1, where a is the address of the live block that
// starts there. A window is no longer than a block, so at most one block starts in it. It has at most
// 128 bytes, so no two addresses in it have the same mark. And no address has the mark 0.
//
// A malloc sets the mark of its block, and a free clears it. Who has the block is the byte's only
// writer, so nothing is atomic (docs/decisions/0033-a-live-mark-for-each-block.md).
//
// The marks of a range have a table for each length of a window:
//
//   address of the mark == table + ((address + offset) >> shift)
//
// `offset` makes a range of R bytes begin at R. So the windows of length 2^s have the numbers
// [R >> s, 2R >> s), and the tables touch each other and never overlap.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>

namespace ashlar::detail {

/// A mark: 0, or what `mark_of` says of the address of a live block.
using live_mark = std::uint8_t;

/// The binary logarithms of the shortest and the longest window.
inline constexpr unsigned mark_shift_min = std::countr_zero(block_granule);
inline constexpr unsigned mark_shift_max = 7;

/// Returns: the logarithm of the windows of blocks of `size` bytes. Requires: size >= block_granule.
[[nodiscard]] constexpr std::uint8_t mark_shift_of(std::size_t size) noexcept {
  return static_cast<std::uint8_t>(
      std::min(static_cast<unsigned>(std::bit_width(size)) - 1, mark_shift_max));
}

/// Returns: how many bytes of blocks of `size` have their marks in one cache line. Threads that write marks in one line
/// take it from each other with each call.
[[nodiscard]] constexpr std::size_t bytes_of_mark_line(std::size_t size) noexcept {
  return std::size_t{64} << mark_shift_of(size);
}

/// Returns: what the mark of a window is while a live block starts at `address` in it.
[[nodiscard]] ASHLAR_HOT live_mark mark_of(const void* address) noexcept {
  return static_cast<live_mark>(2 * reinterpret_cast<std::uintptr_t>(address) + 1);
}

/// Where the marks of one range are. None of it changes once the range is there.
struct mark_tables {
  std::uintptr_t offset = 0, table = 0;

  /// Returns: the mark for `address`. Requires: the range holds it, and has marks there.
  [[nodiscard]] ASHLAR_HOT live_mark* at(const void* address, unsigned shift) const noexcept {
    const std::uintptr_t number = (reinterpret_cast<std::uintptr_t>(address) + offset) >> shift;
    return reinterpret_cast<live_mark*>(table + number);
  }
};

}  // namespace ashlar::detail
