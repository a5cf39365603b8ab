// tools/profile/size_grid.hpp: the sizes that a profile tells apart. Layer: profile.
//
// Both grids are fixed, so that profiles of any programs can be merged entry by entry. Their number is in each file.
//
//   pool grid   8, 16, 24 ... 512 | 16 a doubling up to 64 KiB | 8 up to 64 MiB | 1 up to 64 GiB      266 sizes
//   heap grid   16, 32 ... 32 KiB | 36 KiB, 40 KiB ... 128 KiB | the pool grid's                     2154 sizes
//
// The pool grid is coarse, since a profile has a peak for each *interval* of it. The heap grid has for each block size
// that a heap's class can have (core/size_class.hpp) a size of its own: so the heap's classes are chosen from a profile
// exactly as from the traces.
//
// Law: a pool grid's size at or above x, the first one, is a multiple of each power of two that x is a multiple of. So a
// need that was rounded up to its alignment stays a multiple of it on the grid (small_parts_test.cpp: all of them).
#pragma once

#include <bit>
#include <cstdint>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/size_class.hpp>

namespace ashlar::profiling {

// Products of two 64-bit numbers.

__extension__ using wide = unsigned __int128;

[[nodiscard]] constexpr std::uint64_t at_most_64_bits(wide number) noexcept {
  return number > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(number);
}

/// Another choice of sizes has another number.
inline constexpr std::uint32_t grid_number = 1;

struct pool_grid {
  static constexpr std::uint32_t count = 266;
  static constexpr std::uint64_t largest_size = std::uint64_t{1} << 36;  ///< bytes
  static constexpr std::uint64_t largest_alignment = std::uint64_t{1} << 20;

  /// Returns: the first size of the grid that is at least `bytes`. Requires: bytes <= largest_size.
  [[nodiscard]] static constexpr std::uint64_t round_up(std::uint64_t bytes) noexcept {
    if (bytes <= even_up_to) return align_up(bytes == 0 ? 1 : bytes, even_step);
    const unsigned below = floor_log2(bytes);
    return align_up(bytes, std::uint64_t{1} << (below - parts_log2(below)));
  }
  /// Returns: the place of that size in the grid. Requires: bytes <= largest_size.
  [[nodiscard]] static constexpr std::uint32_t step_of(std::uint64_t bytes) noexcept {
    if (bytes <= even_up_to)
      return static_cast<std::uint32_t>((bytes == 0 ? 1 : bytes) - 1) / std::uint32_t{even_step};
    const unsigned below = floor_log2(bytes);
    const unsigned parts = parts_log2(below);
    const std::uint64_t part = ((bytes - 1) >> (below - parts)) - (std::uint64_t{1} << parts);
    return steps_below(below) + static_cast<std::uint32_t>(part);
  }
  /// Returns: the size at a place. Requires: step < count.
  [[nodiscard]] static constexpr std::uint64_t size_of(std::uint32_t step) noexcept {
    if (step < steps_below(even_log2)) return (step + 1) * even_step;
    unsigned below = even_log2;
    while (step >= steps_below(below + 1)) ++below;
    const unsigned parts = parts_log2(below);
    return ((std::uint64_t{1} << parts) + (step - steps_below(below)) + 1) << (below - parts);
  }

  /// Whether pools can have such blocks at all.
  [[nodiscard]] static constexpr bool serves(std::uint64_t size, std::uint64_t alignment) noexcept {
    return size <= largest_size && alignment <= largest_alignment;
  }
  /// Returns: the bytes that the smallest block has that serves the request (0 bytes count as 1), rounded up to the grid.
  /// Requires: serves(size, alignment); `alignment` is a power of two or 0 (none was asked for).
  [[nodiscard]] static constexpr std::uint64_t need_of(std::uint64_t size,
                                                       std::uint64_t alignment) noexcept {
    return round_up(align_up(size == 0 ? 1 : size, alignment == 0 ? 1 : alignment));
  }

 private:
  static constexpr std::uint64_t even_step = 8;
  static constexpr unsigned even_log2 = 9;
  static constexpr std::uint64_t even_up_to = std::uint64_t{1} << even_log2;
  static constexpr unsigned sixteen_up_to_log2 = 16;
  static constexpr unsigned eight_up_to_log2 = 26;

  /// Of bytes in (2^n, 2^(n + 1)]: n.
  static constexpr unsigned floor_log2(std::uint64_t bytes) noexcept {
    return static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;
  }
  /// Into 2 to this power parts (2^below, 2^(below + 1)] is divided.
  static constexpr unsigned parts_log2(unsigned below) noexcept {
    return below < sixteen_up_to_log2 ? 4 : below < eight_up_to_log2 ? 3 : 0;
  }
  /// How many sizes are at most 2^below.
  static constexpr std::uint32_t steps_below(unsigned below) noexcept {
    constexpr std::uint32_t even = even_up_to / even_step;
    constexpr std::uint32_t to_64_kib = even + 16 * (sixteen_up_to_log2 - even_log2);
    constexpr std::uint32_t to_64_mib = to_64_kib + 8 * (eight_up_to_log2 - sixteen_up_to_log2);
    if (below <= sixteen_up_to_log2) return even + 16 * (below - even_log2);
    if (below <= eight_up_to_log2) return to_64_kib + 8 * (below - sixteen_up_to_log2);
    return to_64_mib + (below - eight_up_to_log2);
  }
};
static_assert(pool_grid::size_of(pool_grid::count - 1) == pool_grid::largest_size);

struct heap_grid {
  /// Returns: the place of the first size that is at least `bytes`. Requires: bytes <= pool_grid::largest_size.
  [[nodiscard]] static constexpr std::uint32_t step_of(std::uint64_t bytes) noexcept {
    if (bytes <= shared_max)
      return static_cast<std::uint32_t>((bytes == 0 ? 1 : bytes) - 1) /
             std::uint32_t{block_granule};
    if (bytes <= small_size_max)
      return shared_steps + static_cast<std::uint32_t>(bytes - shared_max - 1) / heap_page;
    return small_steps + pool_grid::step_of(bytes) - pool_steps;
  }
  /// Returns: the size at a place. Requires: step < count.
  [[nodiscard]] static constexpr std::uint64_t size_of(std::uint32_t step) noexcept {
    if (step < shared_steps) return (std::uint64_t{step} + 1) * block_granule;
    if (step < small_steps)
      return shared_max + (std::uint64_t{step} - shared_steps + 1) * heap_page;
    return pool_grid::size_of(step - small_steps + pool_steps);
  }
  /// Blocks of every class have this alignment: one of at most so much counts as none.
  [[nodiscard]] static constexpr std::uint64_t alignment_of(std::uint64_t alignment) noexcept {
    return alignment <= block_granule ? 0 : alignment;
  }

 private:
  static constexpr std::uint64_t shared_max = 32 * 1024;  // larger classes are whole pages
  static constexpr std::uint32_t heap_page = 4096;
  static constexpr std::uint32_t shared_steps = shared_max / block_granule;
  static constexpr std::uint32_t small_steps =
      shared_steps + static_cast<std::uint32_t>(small_size_max - shared_max) / heap_page;
  static constexpr std::uint32_t pool_steps = pool_grid::step_of(small_size_max) + 1;

 public:
  static constexpr std::uint32_t count = small_steps + pool_grid::count - pool_steps;
};
static_assert(heap_grid::size_of(heap_grid::count - 1) == pool_grid::largest_size);

}  // namespace ashlar::profiling
