// core/size_class.hpp: from a size to a class and back, as tables made at compile time.
// Layer: core (freestanding).
//
//   16 32 48 ... 128 | 144 160 ... 256 | 288 ... 512 | ... | 72 KiB 80 KiB ... 128 KiB
//   steps of 16 B    | 8 steps for each doubling
//
// Law: for a size n in (128, 131072] with block size b(n): b(n) - n < n / 8, because the step inside
// (2^k, 2^(k+1)] is 2^k / 8. Up to 128 bytes the slack is below 16.
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

/// Number of classes, class 0 included: valid indices are below it.
inline constexpr std::size_t class_count = detail::count_classes();
static_assert(class_count == 89 && class_count <= UINT8_MAX);

namespace detail {

inline constexpr auto block_sizes = [] {
  std::array<std::uint32_t, class_count> sizes{};
  for (std::size_t c = 1; c < class_count; ++c)
    sizes[c] = static_cast<std::uint32_t>(next_block_size(sizes[c - 1]));
  return sizes;
}();

/// Class of a size in granules, rounded up. 8193 bytes, of which a program touches a few lines.
inline constexpr auto class_by_granules = [] {
  std::array<class_index, small_size_max / block_granule + 1> classes{};
  std::size_t c = 1;
  classes[0] = 1;  // malloc(0) is a block of its own
  for (std::size_t granules = 1; granules < classes.size(); ++granules) {
    if (granules * block_granule > block_sizes[c]) ++c;
    classes[granules] = static_cast<class_index>(c);
  }
  return classes;
}();

}  // namespace detail

/// Returns: the bytes of a block of class `c`. Requires: 0 < c < class_count.
[[nodiscard]] constexpr std::size_t block_size_of(class_index c) noexcept {
  return detail::block_sizes[c];
}

/// Returns: the smallest class whose blocks hold `size` bytes. Requires: size <= small_size_max.
/// O(1).
[[nodiscard]] constexpr class_index class_of_size(std::size_t size) noexcept {
  return detail::class_by_granules[(size + block_granule - 1) / block_granule];
}

/// Returns: the smallest class whose blocks hold `size` bytes at addresses that are multiples of
/// `alignment` when its slab starts at one, or 0 when no class does. Requires: size <=
/// small_size_max, `alignment` a power of two. O(1).
[[nodiscard]] constexpr class_index class_of_aligned_size(std::size_t size,
                                                          std::size_t alignment) noexcept {
  if (alignment <= block_granule) return class_of_size(size);
  if (alignment > small_size_max) return 0;
  // What holds a multiple of `alignment` is one, too: where blocks grow by steps of `alignment` or more, each is a
  // multiple of the step; where they grow by less, every multiple of `alignment` is a block size.
  return class_of_size(align_up(size == 0 ? 1 : size, alignment));
}

}  // namespace ashlar
