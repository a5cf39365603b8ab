// pages/slab.hpp: taking blocks out of a slab's bitmap and putting them back, and what is counted.
// Layer: pages.
//
// Invariant: free_blocks == number of 1 bits in free_bits; a bit is 1 iff nobody, no cache
// included, holds the block. Bits are taken from the lowest word up (but for a stack's first batch,
// see batch_start), so a slab's high pages stay untouched (and cost no memory) until they are
// needed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ashlar/core/fault.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// Whether a slab can have free pages and blocks in use at once; it then has few enough for a
/// page_set.
[[nodiscard]] constexpr bool may_be_hollow(const slab_shape& shape) noexcept {
  return shape.blocks > 1 && shape.pages > 1;
}

/// Returns: the pages [begin, end). Requires: begin < end <= the digits of page_set.
[[nodiscard]] constexpr page_set pages_between(unsigned begin, unsigned end) noexcept {
  return (~page_set{0} >> (std::numeric_limits<page_set>::digits - (end - begin))) << begin;
}

/// Where in a slab a batch begins.
enum class batch_start : std::uint8_t {
  lowest_block,
  /// At the first 64 neighbours that are all free, if there are any: their cache lines are in no
  /// other use.
  free_word
};

/// Returns: the word of the slab's bitmap from which a batch is taken.
[[nodiscard]] inline std::uint32_t begin_word(const run& slab, std::uint32_t words,
                                              batch_start start) noexcept {
  if (start == batch_start::free_word)
    for (std::uint32_t w = 0; w != words; ++w)
      if (slab.free_bits[w] == ~std::uint64_t{0}) return w;
  return 0;
}

/// Two addresses at a time: batches are long.
using address_pair
    [[gnu::vector_size(2 * sizeof(void*)), gnu::aligned(alignof(void*)), gnu::may_alias]] =
        std::uintptr_t;

/// Effects: takes up to `count` blocks from word `w` of the bitmap up, lowest addresses first, and
/// writes them to out[-1], out[-2], ...: downwards, because a cache is a stack, so the lowest is
/// handed out first. No free block between the lowest and the highest of them is left. Returns: how
/// many; not 0 if the slab has any and `w` is from begin_word.
inline std::size_t take_blocks(run& slab, const slab_shape& shape, char* base, void** out,
                               std::size_t count, std::uint32_t w = 0) noexcept {
  const std::size_t size = shape.block_size;
  const std::size_t most = count < slab.free_blocks ? count : slab.free_blocks;
  std::size_t left = most;
  for (; left != 0 && w != shape.words; ++w) {
    std::uint64_t bits = slab.free_bits[w];
    if (bits == 0) continue;
    char* const first = base + std::size_t{w} * 64 * size;
    if (bits == ~std::uint64_t{0} && left >= 64) {
      // A whole word, as every word of a fresh slab is: no searching for bits.
      const auto lowest = reinterpret_cast<std::uintptr_t>(first);
      address_pair next{lowest + size, lowest};
#pragma GCC unroll 8
      for (unsigned pair = 0; pair != 32; ++pair, next += 2 * size)
        *reinterpret_cast<address_pair*>(out -= 2) = next;
      left -= 64;
      bits = 0;
    } else {
      do {
        *--out = first + static_cast<unsigned>(std::countr_zero(bits)) * size;
        bits &= bits - 1;
        --left;
      } while (bits != 0 && left != 0);
    }
    slab.free_bits[w] = bits;
  }
  const std::size_t taken = most - left;
  slab.free_blocks -= static_cast<std::uint32_t>(taken);
  return taken;
}

[[nodiscard]] inline bool is_free(const run& slab, std::uint32_t index) noexcept {
  return ((slab.free_bits[index / 64] >> (index % 64)) & 1) != 0;
}

/// Effects: marks a block free. Returns: false, with nothing changed, when it is free already.
[[nodiscard]] inline bool put_block(run& slab, std::uint32_t index) noexcept {
  std::uint64_t& word = slab.free_bits[index / 64];
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  if ((word & bit) != 0) [[unlikely]]
    return false;
  word |= bit;
  ++slab.free_blocks;
  return true;
}

/// Effects: marks the blocks [index, index + count) free. Returns: the index of the first of them
/// that was free already, with nothing changed, or `index + count` when all is well.
inline std::uint32_t put_blocks(run& slab, std::uint32_t index, std::uint32_t count) noexcept {
  const std::uint32_t end = index + count;
  for (std::uint32_t i = index; i != end;) {
    const std::uint32_t in_word = std::min(64 - i % 64, end - i);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - in_word)) << (i % 64);
    std::uint64_t& word = slab.free_bits[i / 64];
    if (const std::uint64_t already = word & mask; already != 0) [[unlikely]] {
      for (std::uint32_t undone = index; undone < i; ++undone)
        slab.free_bits[undone / 64] &= ~(std::uint64_t{1} << (undone % 64));
      return i / 64 * 64 + static_cast<std::uint32_t>(std::countr_zero(already));
    }
    word |= mask;
    i += in_word;
  }
  slab.free_blocks += count;
  return end;
}

/// An address that is no block in use; null: none was found. It is reported after the lock is open:
/// a handler of the abort may allocate.
struct misused_block {
  fault_kind kind = fault_kind::not_in_use;
  const void* address = nullptr;
};

/// Effects: puts back blocks[0], of number `index`, and those that follow it with this step in
/// memory. Returns: how many; 0 when blocks[0] is free already.
[[nodiscard]] [[gnu::noinline]] inline std::size_t put_neighbours(
    run& slab, const slab_shape& shape, std::uint32_t index, void* const* blocks, std::size_t count,
    std::ptrdiff_t step) noexcept {
  const std::size_t in_slab = step > 0 ? shape.blocks - index : index + 1u;
  const std::size_t most = std::min(count, in_slab);
  const auto size = static_cast<std::uintptr_t>(step);
  std::uintptr_t next = reinterpret_cast<std::uintptr_t>(blocks[0]) + 2 * size;
  std::uint32_t length = 2;
  for (address_pair pair{next, next + size}, differing{}; length + 8 <= most; length += 8) {
#pragma GCC unroll 4
    for (unsigned i = 0; i != 8; i += 2, pair += 2 * size)
      differing |= *reinterpret_cast<const address_pair*>(blocks + length + i) ^ pair;
    if ((differing[0] | differing[1]) != 0) break;
    next += 8 * size;
  }
  for (; length < most && reinterpret_cast<std::uintptr_t>(blocks[length]) == next; next += size)
    ++length;
  if (length > most) length = 1;  // the neighbour in memory belongs to the next slab
  const std::uint32_t lowest = step > 0 ? index : index + 1 - length;
  if (put_blocks(slab, lowest, length) == lowest + length) [[likely]]
    return length;
  return put_block(slab, index) ? 1 : 0;  // one of the others is free already
}

/// Effects: puts back blocks[0] and those that follow it in memory, upwards or downwards: programs
/// free in the order of allocation, or in reverse, more often than not, and then a whole stretch
/// costs a few words of the bitmap. Returns: how many; 0 and `bad` when one is no block in use.
/// Requires: blocks[0] is inside the slab.
[[nodiscard]] inline std::size_t put_stretch(run& slab, const slab_shape& shape, char* base,
                                             void* const* blocks, std::size_t count,
                                             misused_block& bad) noexcept {
  const auto size = static_cast<std::ptrdiff_t>(shape.block_size);
  char* const first = static_cast<char*>(blocks[0]);
  const std::ptrdiff_t offset = first - base;
  const std::uint32_t index = shape.index_of(static_cast<std::size_t>(offset));
  if (static_cast<std::ptrdiff_t>(index) * size != offset || index >= shape.blocks) [[unlikely]] {
    bad = {fault_kind::interior_pointer, first};
    return 0;
  }
  const std::ptrdiff_t step = count > 1 ? static_cast<char*>(blocks[1]) - first : 0;
  const std::size_t put = step == size || step == -size
                              ? put_neighbours(slab, shape, index, blocks, count, step)
                              : std::size_t{put_block(slab, index)};
  if (put == 0) [[unlikely]]
    bad = {fault_kind::double_free, first};
  return put;
}

/// Returns: whether the blocks [begin, end) are all free.
[[nodiscard]] inline bool all_free(const run& slab, std::uint32_t begin,
                                   std::uint32_t end) noexcept {
  while (begin < end) {
    const std::uint32_t in_word = std::min(64 - begin % 64, end - begin);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - in_word)) << (begin % 64);
    if ((slab.free_bits[begin / 64] & mask) != mask) return false;
    begin += in_word;
  }
  return true;
}

/// Pages of a slab, [begin, end).
struct slab_part {
  std::uint32_t begin;
  std::uint32_t end;
};

/// Returns: the pages of `part` of the slab on which nobody holds a byte. O(pages). Requires:
/// may_be_hollow; the part is within the slab.
[[nodiscard]] inline page_set free_pages(const run& slab, const slab_shape& shape,
                                         slab_part part) noexcept {
  page_set free = 0;
  for (std::uint32_t page = part.begin; page < part.end; ++page) {
    const std::size_t begin = std::size_t{page} << page_shift;
    const std::uint32_t first = shape.index_of(begin);
    const std::uint32_t end = std::min(shape.index_of(begin + page_size - 1) + 1, shape.blocks);
    if (all_free(slab, first, end)) free |= page_set{1} << page;
  }
  return free;
}

/// What one class of the heap has counted. Blocks.
struct class_counts {
  std::uint64_t taken = 0;      ///< ever handed to a cache
  std::uint64_t given = 0;      ///< ever come back from one
  std::uint64_t held_peak = 0;  ///< most that were out at once: max of taken - given
  std::uint64_t made = 0;       ///< in slabs that exist now
  std::uint64_t made_peak = 0;
  std::uint64_t slabs = 0;
  std::uint64_t empty_slabs = 0;  ///< of these, without a block in use
};

/// What the slabs of one class are made of. Bytes.
struct slab_bytes {
  std::size_t blocks = 0;   ///< of all blocks
  std::size_t idle = 0;     ///< of free blocks in the bitmaps, without those on absent pages
  std::size_t absent = 0;   ///< of pages that the system has got
  std::uint64_t taken = 0;  ///< of blocks that were ever handed to a cache
};

}  // namespace ashlar::detail
