// pool/block_layout.hpp: the size arithmetic of pools, in one place and checked for overflow.
// Layer: pool (freestanding). All functions constexpr, O(1), thread-safe.
//
// A run of n blocks in memory:
//   | links | states | pad | slot 0 | slot 1 | ... | slot n-1 |
// and one slot:
//   | block: block_size | slack up to stride |
//   | block: block_size | canary and slack up to stride: canary_bytes at least |      guarded
// Law: stride is a multiple of the alignment, and of a pointer's where blocks are whole words; so
// every block of a run whose base is aligned is aligned. What describes the blocks stands before
// them: a write beyond a block hits the next one or leaves the run.
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

/// What follows a guarded block at least: as wide as the widest store that programs make by mistake
/// in one go.
inline constexpr std::size_t canary_bytes = 16;

/// How blocks are kept: what stands in the slots beside the block and in the arrays before them.
struct block_upkeep {
  bool whole_words;  ///< blocks are made of pointers: for a link inside, or for tools' granules
  bool guarded;      ///< a canary follows each block
  std::size_t link_bytes;   ///< of the array of links, per block; a power of two or 0
  std::size_t state_bytes;  ///< of the array of states, per block
  std::size_t spare_links;  ///< links beyond one per block

  /// Bytes of the arrays of a run of `count` blocks. Requires: they fit std::size_t.
  [[nodiscard]] constexpr std::size_t side_bytes(std::size_t count) const noexcept {
    return count * (link_bytes + state_bytes) + spare_links * link_bytes;
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
  slot_shape shape;
  shape.block_size = block.size_bytes == 0 ? 1 : block.size_bytes;
  shape.alignment = block.alignment;
  if (upkeep.whole_words && shape.alignment < alignof(void*)) shape.alignment = alignof(void*);
  std::size_t bytes = shape.block_size;
  if (upkeep.guarded) {
    if (__builtin_add_overflow(bytes, canary_bytes, &bytes)) return shape;
  } else if (upkeep.whole_words && bytes < sizeof(void*)) {
    bytes = sizeof(void*);
  }
  if (!align_up_checked(bytes, shape.alignment, shape.stride)) shape.stride = 0;
  return shape;
}

/// Returns: what the base of a run must be aligned to: for its blocks, and for the links before
/// them.
[[nodiscard]] constexpr std::size_t base_alignment(const slot_shape& shape,
                                                   block_upkeep upkeep) noexcept {
  return shape.alignment > upkeep.link_bytes ? shape.alignment : upkeep.link_bytes;
}

/// Returns: offset of the first block from the base of a run of `count` blocks; links are at the
/// base, states behind them. Requires: run_bytes() is not SIZE_MAX.
[[nodiscard]] constexpr std::size_t blocks_offset(const slot_shape& shape, block_upkeep upkeep,
                                                  std::size_t count) noexcept {
  return count == 0 ? 0 : align_up(upkeep.side_bytes(count), shape.alignment);
}

/// Returns: bytes of a run of `count` blocks whose base is aligned already; SIZE_MAX where no
/// memory is large enough.
[[nodiscard]] constexpr std::size_t run_bytes(const slot_shape& shape, block_upkeep upkeep,
                                              std::size_t count) noexcept {
  if (shape.stride == 0) return SIZE_MAX;
  if (count == 0) return 0;
  std::size_t each = 0;
  std::size_t all = 0;
  if (__builtin_add_overflow(shape.stride, upkeep.link_bytes + upkeep.state_bytes, &each))
    return SIZE_MAX;
  if (__builtin_mul_overflow(each, count, &all)) return SIZE_MAX;
  const std::size_t lost =
      blocks_offset(shape, upkeep, count) - count * (upkeep.link_bytes + upkeep.state_bytes);
  if (__builtin_add_overflow(all, lost, &all)) return SIZE_MAX;
  return all;
}

/// Returns: how many blocks a run of `bytes` bytes has room for, its base being aligned already.
[[nodiscard]] constexpr std::size_t blocks_in(const slot_shape& shape, block_upkeep upkeep,
                                              std::size_t bytes) noexcept {
  std::size_t each = 0;
  if (shape.stride == 0) return 0;
  if (__builtin_add_overflow(shape.stride, upkeep.link_bytes + upkeep.state_bytes, &each)) return 0;
  std::size_t count = bytes / each;
  // What is lost once is less than a block and its link.
  if (run_bytes(shape, upkeep, count) > bytes) --count;
  return count;
}

}  // namespace detail
}  // namespace ashlar
