// pool/block_layout.hpp: the size arithmetic of pools, in one place and checked for overflow.
// Layer: pool (freestanding). Includes: core. All functions constexpr, O(1), thread-safe.
//
// A run of n blocks in memory:
//   | slot 0 | slot 1 | ... | slot n-1 | pad | links: n * link_bytes | states: n * state_bytes |
// and one slot:
//   | block: block_size | slack up to stride |                      link of a free block at offset
//   0 | block: block_size | canary and slack up to stride |           guarded: link in the canary's
//   room
// Law: stride is a multiple of the alignment, and of a pointer's where blocks are linked through
// themselves; so every block of a run whose base is aligned is aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>

namespace ashlar {

/// What one block is: its size in bytes (0 counts as 1: every block has an address of its own) and
/// its alignment, a power of two.
struct block_layout {
  std::size_t size_bytes = 1;
  std::size_t alignment = alignof(std::max_align_t);

  /// Returns: the layout of a T, over-aligned types included.
  template <class T>
  [[nodiscard]] static constexpr block_layout of() noexcept {
    return {sizeof(T), alignof(T)};
  }
};

namespace detail {

/// How blocks are kept: what stands in the slots beside the block and in the arrays behind them.
struct block_upkeep {
  bool linked;              ///< free blocks are linked through themselves
  bool guarded;             ///< a canary follows each block
  std::size_t link_bytes;   ///< of the array of links, per block; a power of two or 0
  std::size_t state_bytes;  ///< of the array of states, per block

  [[nodiscard]] constexpr std::size_t side_bytes() const noexcept {
    return link_bytes + state_bytes;
  }
  /// Where a free block's link stands in its slot. Requires: the slot's shape exists.
  [[nodiscard]] constexpr std::size_t link_offset(std::size_t block_size) const noexcept {
    return guarded ? align_up(block_size, alignof(void*)) : 0;
  }
  /// Bytes that may be lost to aligning the array of links.
  [[nodiscard]] constexpr std::size_t side_pad() const noexcept {
    return link_bytes > 1 ? link_bytes - 1 : 0;
  }
};

/// One slot. stride == 0: the layout cannot exist (its size does not fit std::size_t).
struct slot_shape {
  std::size_t block_size = 0;
  std::size_t alignment = 1;
  std::size_t stride = 0;
};

/// Requires: block.alignment is a power of two.
[[nodiscard]] constexpr slot_shape shape_of(block_layout block, block_upkeep upkeep) noexcept {
  constexpr std::size_t link = sizeof(void*);
  slot_shape shape;
  shape.block_size = block.size_bytes == 0 ? 1 : block.size_bytes;
  shape.alignment = block.alignment;
  if (upkeep.linked && shape.alignment < alignof(void*)) shape.alignment = alignof(void*);
  std::size_t bytes = shape.block_size;
  if (upkeep.guarded) {
    if (!align_up_checked(bytes, alignof(void*), bytes)) return shape;
    if (__builtin_add_overflow(bytes, link, &bytes)) return shape;
  } else if (upkeep.linked && bytes < link) {
    bytes = link;
  }
  if (!align_up_checked(bytes, shape.alignment, shape.stride)) shape.stride = 0;
  return shape;
}

/// Returns: what the base of a run must be aligned to: for its blocks, and for the links behind
/// them.
[[nodiscard]] constexpr std::size_t base_alignment(const slot_shape& shape,
                                                   block_upkeep upkeep) noexcept {
  return shape.alignment > upkeep.link_bytes ? shape.alignment : upkeep.link_bytes;
}

/// Returns: bytes of a run of `count` blocks whose base is aligned already; SIZE_MAX where no
/// memory is large enough.
[[nodiscard]] constexpr std::size_t run_bytes(const slot_shape& shape, block_upkeep upkeep,
                                              std::size_t count) noexcept {
  if (shape.stride == 0) return SIZE_MAX;
  std::size_t each = 0;
  std::size_t all = 0;
  if (__builtin_add_overflow(shape.stride, upkeep.side_bytes(), &each)) return SIZE_MAX;
  if (__builtin_mul_overflow(each, count, &all)) return SIZE_MAX;
  if (count != 0 && __builtin_add_overflow(all, upkeep.side_pad(), &all)) return SIZE_MAX;
  return all;
}

/// Returns: how many blocks a run of `bytes` bytes has room for, its base being aligned already.
[[nodiscard]] constexpr std::size_t blocks_in(const slot_shape& shape, block_upkeep upkeep,
                                              std::size_t bytes) noexcept {
  std::size_t each = 0;
  if (shape.stride == 0 || bytes < upkeep.side_pad()) return 0;
  if (__builtin_add_overflow(shape.stride, upkeep.side_bytes(), &each)) return 0;
  return (bytes - upkeep.side_pad()) / each;
}

/// Returns: offset of the array of links from the base of a run of `count` blocks.
[[nodiscard]] constexpr std::size_t links_offset(const slot_shape& shape, block_upkeep upkeep,
                                                 std::size_t count) noexcept {
  const std::size_t end = shape.stride * count;
  return upkeep.link_bytes > 1 ? align_up(end, upkeep.link_bytes) : end;
}

}  // namespace detail
}  // namespace ashlar
