// core/size_class.hpp: the standard block sizes of a heap. heap/class_table.hpp has the way from a
// size to its class.
// Layer: core (freestanding).
//
//   16 32 48 ... 128 | 144 160 ... 256 | 288 ... 512 | ... | 72 KiB 80 KiB ... 128 KiB
//   steps of 16 B    | 8 steps for each doubling
//
// Law: for a size n in (128, 131072] with block size b(n): b(n) - n < n / 8, because the step
// inside (2^k, 2^(k+1)] is 2^k / 8. Up to 128 bytes the slack is below 16.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>

namespace ashlar {

/// A size class: an index into tables. 0 is no class (null, foreign, large).
using class_index = std::uint8_t;

/// Every block is a multiple of this and aligned to it at least: alignof(max_align_t) on 64 bits.
inline constexpr std::size_t block_granule = 16;

inline constexpr std::size_t small_size_max = 128 * 1024;  ///< largest size that has a class, bytes
inline constexpr std::size_t steps_per_doubling = 8;

namespace detail {

/// The block size that follows `size` in the table. Requires: a block size, or 0.
constexpr std::size_t next_block_size(std::size_t size) noexcept {
  constexpr std::size_t linear_end = block_granule * steps_per_doubling;
  if (size < linear_end) return size + block_granule;
  return size + std::bit_floor(size) / steps_per_doubling;
}

constexpr std::size_t count_classes() noexcept {
  std::size_t count = 1;  // class 0
  for (std::size_t size = 0; size < small_size_max; size = next_block_size(size)) ++count;
  return count;
}

}  // namespace detail

/// Number of the standard classes, class 0 included, and the most that any heap has.
inline constexpr std::size_t class_count = detail::count_classes();
static_assert(class_count == 89 && class_count <= UINT8_MAX);

namespace detail {

inline constexpr auto block_sizes = [] {
  std::array<std::uint32_t, class_count> sizes{};
  for (std::size_t c = 1; c < class_count; ++c)
    sizes[c] = static_cast<std::uint32_t>(next_block_size(sizes[c - 1]));
  return sizes;
}();

}  // namespace detail

}  // namespace ashlar
