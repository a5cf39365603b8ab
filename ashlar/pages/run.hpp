// pages/run.hpp: a run of pages, and the geometry of those that are slabs.
// Layer: pages.
//
// Every page below a range's top belongs to exactly one run:
//
//   | slab, class 4 | slab, class 9 | free, dirty | large block | its headroom | free, clean | ...
//
// A run is a slab (blocks of one class), a large block, free, or kept for a block to grow into. Its
// record lives outside of it, so that an overflow of a block cannot reach it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>

namespace ashlar::detail {

inline constexpr std::size_t page_shift = heap_page_shift;
/// The heap's own unit, bytes: class map, runs and large blocks count in it.
inline constexpr std::size_t page_size = std::size_t{1} << page_shift;

enum class run_kind : std::uint8_t {
  unused,    ///< the record itself is free
  slab,      ///< blocks of one class
  large,     ///< one block
  dirty,     ///< free; its pages may be resident and hold old bytes
  clean,     ///< free; its pages read as zero and cost no memory
  headroom,  ///< as clean, and kept for the large block in front of it to grow into
  closed,    ///< free; no access to its pages is possible, and they cost no memory
  moving,    ///< busy with the lock open, and counts for nothing: remapped, closed or renewed
  purging,   ///< busy with the lock open, and counts as in use: purged, populated or cut
  lost,      ///< its addresses may be unmapped since the system refused something; never used again
};

/// A set of a slab's pages: bit n is page n.
using page_set = std::uint32_t;

/// The record of one run. 56 bytes, for 9 pages or more of a slab: less than 0.16 %.
struct run {
  std::uint32_t first = 0;  ///< its first page, counted from the base of its range
  std::uint32_t pages = 0;
  run* next = nullptr;  ///< in a bin (free) or a fullness list (slab)
  run* previous = nullptr;
  union {
    std::uint64_t* free_bits = nullptr;  ///< slab: one bit a block, 1 means free
    std::uint64_t note;                  ///< large: whatever its owner says of it; at first 0
  };
  union {
    std::uint32_t free_blocks = 0;  ///< slab: number of 1 bits
    std::uint32_t dirty_since_ms;   ///< dirty: when it became so (low bits of the clock)
  };
  run_kind kind = run_kind::unused;
  class_index size_class = 0;  ///< slab: the class of its blocks
  std::uint8_t range = 0;      ///< index of its range
  std::uint8_t fullness = 0;   ///< slab: which list it is on
  union {
    page_set seen_free = 0;  ///< slab: its pages that have been free since somebody looked
    std::uint32_t
        cut;  ///< large, one piece: where that ends and the range's own mapping begins; else 0
  };
  page_set absent = 0;  ///< slab: its free pages that the system has, or has not given yet
  bool grown = false;   ///< large: it has grown; dirty: some block that had grown was here
  bool rest = false;    ///< dirty: left behind a large block that may grow into it
  bool zero = false;    ///< in use: it read as zero when it was cut
  bool closes = false;  ///< large: its pages are closed when they are freed
  std::uint16_t pieces =
      0;  ///< so many pieces of it, at most, came by remapping: its mapping is split
  std::uint8_t side = 0;  ///< slab: which side of its class has it
};

static_assert(sizeof(run) <= 56 || sizeof(void*) != 8);

/// A block above this has a slab of its own: one that shared would hold its neighbours' pages back.
/// What it gains by a class is a place in the caches, where most of its kind are taken and freed.
inline constexpr std::size_t shared_slab_block_max = 32 * 1024;

/// How a slab of blocks of one size is cut.
struct slab_shape {
  std::uint32_t block_size;
  std::uint32_t pages;
  std::uint32_t blocks;
  std::uint32_t words;       ///< of the free bitmap
  std::uint64_t reciprocal;  ///< ceil(2^40 / block size)

  /// Returns: the index of the block that holds byte `offset` of a slab. Exact for every offset in
  /// a slab: the reciprocal's error, below 2^-40, times the offset stays below 1 / block size.
  [[nodiscard]] constexpr std::uint32_t index_of(std::size_t offset) const noexcept {
    return static_cast<std::uint32_t>((offset * reciprocal) >> 40);
  }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return std::size_t{pages} << page_shift;
  }
};

inline constexpr std::size_t slab_bytes_min = 64 * 1024;
inline constexpr std::size_t slab_blocks_min = 4;

inline constexpr std::size_t slab_words_max = slab_bytes_min / block_granule / 64;

/// Returns: one block, where that is above `shared_slab_block_max`; else the least pages, at least
/// 64 KiB and 4 blocks, of which less than 1/64 is left over at the end, or of which the least part
/// is where no page_set holds so many. Requires: a multiple of block_granule; above
/// `shared_slab_block_max` of pages of 4 KiB.
[[nodiscard]] constexpr slab_shape slab_shape_of(std::size_t size) noexcept {
  constexpr std::size_t bytes_max = std::numeric_limits<page_set>::digits * page_size;
  std::size_t bytes = size;
  if (size <= shared_slab_block_max || size % page_size != 0) {
    const auto left_over = [size](std::uint64_t of) { return of % size; };
    bytes = align_up(std::max(slab_bytes_min, slab_blocks_min * size), page_size);
    for (std::size_t more = bytes; left_over(bytes) * 64 > bytes && more <= bytes_max;
         more += page_size)
      if (left_over(more) * bytes < left_over(bytes) * more) bytes = more;
  }
  const std::size_t blocks = bytes / size;
  return {.block_size = static_cast<std::uint32_t>(size),
          .pages = static_cast<std::uint32_t>(bytes / page_size),
          .blocks = static_cast<std::uint32_t>(blocks),
          .words = static_cast<std::uint32_t>(divide_up(blocks, 64)),
          .reciprocal = ((std::uint64_t{1} << 40) + size - 1) / size};
}

}  // namespace ashlar::detail
