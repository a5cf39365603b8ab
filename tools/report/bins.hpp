// tools/report/bins.hpp: sizes of any magnitude in few bins of equal relative width. Layer: report.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ashlar::report {

/// Sizes: below 32 bytes each number is a bin; above, 16 bins to a doubling, so that none is wider than a 16th of its
/// numbers (the heap's classes are an eighth).
struct size_bins {
  static constexpr std::size_t exact = 32;
  static constexpr std::size_t steps = 16;
  static constexpr std::size_t count = exact + (64 - 5) * steps;

  [[nodiscard]] static constexpr std::size_t of(std::uint64_t size) {
    if (size < exact) return static_cast<std::size_t>(size);
    const auto doubling = static_cast<std::size_t>(std::bit_width(size)) - 1;
    return exact + (doubling - 5) * steps +
           static_cast<std::size_t>((size >> (doubling - 4)) - steps);
  }
  /// Returns: the least number of a bin.
  [[nodiscard]] static constexpr std::uint64_t begin(std::size_t bin) {
    if (bin < exact) return bin;
    const std::size_t doubling = (bin - exact) / steps + 5;
    return (steps + (bin - exact) % steps) << (doubling - 4);
  }
  /// Returns: the greatest number of a bin.
  [[nodiscard]] static constexpr std::uint64_t last(std::size_t bin) {
    return bin + 1 == count ? UINT64_MAX : begin(bin + 1) - 1;
  }
};

}  // namespace ashlar::report
