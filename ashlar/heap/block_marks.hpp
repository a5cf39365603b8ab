// heap/block_marks.hpp: a byte for each place where a block may start: one of two signs of a block in use.
// Layer: heap.
//
//   blocks of 48 bytes   | 0 in use    | 48 in slab  | 96 in use   | ...
//   windows of 32 bytes  | 0     | 32    | 64    | 96    | ...
//   marks                  0x01    0       0       0xC1
//
// The mark of a window is 0, or the low byte of 2a + 1, where a is the address of a block that starts
// there. A window is no longer than a block, so at most one block starts in it. It has at most 128
// bytes, so no two addresses in it have the same mark. And no address has the mark 0.
//
// Law: a block is in use if it has its mark and not its key (resting_key.hpp). A block that rests in a
// cache or a stash has no mark, or has its key as well. A block in its slab has no mark.
//
// A thread that is alone in the heap takes the mark away when it frees a block, and gives it back when
// it allocates one: that touches no block. Threads that are many would take the lines of marks from
// each other, 64 marks at a time. So they leave the mark where it is, and use the key
// (docs/decisions/0033-marks-and-keys.md).
//
// The marks of a range have a table for each length of a window:
//
//   address of the mark == table + ((address - origin) >> shift)
//
// The range lies at [R, 2R) from its origin (block_tables.hpp). So the windows of length 2^s have the
// numbers [R >> s, 2R >> s), and the tables touch each other and never overlap.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>

namespace ashlar::detail {

/// A mark: 0, or what `mark_of` says of the address of a block.
using block_mark = std::uint8_t;

/// The binary logarithms of the shortest and the longest window.
inline constexpr unsigned mark_shift_min = std::countr_zero(block_granule);
inline constexpr unsigned mark_shift_max = 7;

/// Returns: the logarithm of the windows of blocks of `size` bytes. Requires: size >= block_granule.
[[nodiscard]] constexpr std::uint8_t mark_shift_of(std::size_t size) noexcept {
  return static_cast<std::uint8_t>(
      std::min(static_cast<unsigned>(std::bit_width(size)) - 1, mark_shift_max));
}

/// Returns: the mark of the block at `address`.
[[nodiscard]] ASHLAR_HOT block_mark mark_of(const void* address) noexcept {
  return static_cast<block_mark>(2 * reinterpret_cast<std::uintptr_t>(address) + 1);
}

}  // namespace ashlar::detail
