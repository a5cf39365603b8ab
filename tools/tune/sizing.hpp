// tools/tune/sizing.hpp: from the peak of an interval of needs to the class that serves it. Layer: tune.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/tune/geometry.hpp"
#include "tools/tune/interval_peaks.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::tune {

/// Percent that capacities lie above the peaks at most.
inline constexpr std::uint64_t largest_margin = 10000;

/// Returns: the peak and `margin_percent` of it, rounded up.
[[nodiscard]] constexpr std::uint64_t capacity_for(std::uint64_t peak_blocks,
                                                   std::uint64_t margin_percent) noexcept {
  return peak_blocks + (peak_blocks * margin_percent + 99) / 100;
}

struct size_class {
  std::uint64_t block_size;  ///< bytes that a caller may use
  std::uint64_t alignment;
  std::uint64_t peak;      ///< most blocks alive at one time, of the traces' the largest
  std::uint64_t capacity;  ///< blocks
  std::uint64_t bytes;     ///< of the class by itself
  friend bool operator==(const size_class&, const size_class&) = default;
};

/// Returns: the bytes of a class whose largest need is `last`; too many where it would be asked for larger needs.
[[nodiscard]] constexpr std::uint64_t bytes_of_class(const block_need& last,
                                                     std::uint64_t alignment,
                                                     std::uint64_t count) noexcept {
  return alignment >= last.closed_from ? too_many_bytes
                                       : class_bytes({last.size, alignment}, count);
}

/// Returns: the class for all needs of the interval.
[[nodiscard]] inline size_class class_for(std::span<const block_need> needs, interval served,
                                          std::uint64_t peak_blocks,
                                          std::uint64_t margin_percent) noexcept {
  size_class made{needs[served.last].size, class_alignment(1), peak_blocks,
                  capacity_for(peak_blocks, margin_percent), 0};
  for (const block_need& need : needs.subspan(served.first, served.last - served.first + 1))
    made.alignment = std::max(made.alignment, class_alignment(need.alignment));
  made.bytes = bytes_of_class(needs[served.last], made.alignment, made.capacity);
  return made;
}

/// Returns: the bytes of a set of these classes, smallest block first: together() from the last to the first.
[[nodiscard]] inline std::uint64_t set_bytes(std::span<const size_class> classes) noexcept {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
  for (std::size_t c = classes.size(); c-- > 0;) {
    bytes = together(classes[c].bytes, classes[c].alignment, bytes, alignment);
    alignment = std::max(alignment, classes[c].alignment);
  }
  return bytes;
}

}  // namespace ashlar::tune
