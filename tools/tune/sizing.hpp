// tools/tune/sizing.hpp: from the peak of an interval of needs to the class that serves it, and the
// bytes of the class in a static_pool_set. Layer: tune.
//
//   | counters | list head | links: count + 1 | pad | block | block | ... |     one class
//
// Law: class_bytes(block, count) == sizeof(static_pool_set<blocks<size, count, alignment>>) with
// the default policies, and together(...) over the classes == sizeof(the set). The parts are the
// pools' own types, small_parts_test.cpp compares with their sizeof, and so does every header that the
// tuner writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/number_list.hpp>
#include <ashlar/pool/block_layout.hpp>
#include <ashlar/pool/fixed_pool.hpp>

#include "tools/tune/interval_peaks.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::tune {

/// What is too large to exist: 4 PiB. Sums of a few of them do not overflow.
inline constexpr std::uint64_t too_many_bytes = std::uint64_t{1} << 52;

/// Blocks of a class are aligned to a pointer at least: the pool's own rule.
[[nodiscard]] constexpr std::uint64_t class_alignment(std::uint64_t alignment) noexcept {
  return std::max<std::uint64_t>(alignment, alignof(void*));
}

namespace detail {

template <class Link>
[[nodiscard]] constexpr std::uint64_t class_bytes_with(block_layout block,
                                                       std::uint64_t count) noexcept {
  using traits = ashlar::detail::traits_for<Link>;
  using counters = ashlar::detail::counters_for<counting::exact, false, false>;
  const auto shape = ashlar::detail::shape_of(block, traits::upkeep);
  const std::size_t run_at = align_up(sizeof(counters), shape.alignment);
  const std::size_t beside_blocks =
      sizeof(ashlar::detail::mark_for<traits>) + traits::upkeep.side_bytes(count);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(shape.stride, count, &bytes) || bytes > too_many_bytes)
    return too_many_bytes;
  return run_at + align_up(beside_blocks, shape.alignment) + bytes;
}

template <class Link>
inline constexpr std::uint64_t most_numbered = ashlar::detail::number_list<Link>::max_count;

}  // namespace detail

/// Returns: as the law says; too_many_bytes at most. Requires: count > 0, block.size_bytes <=
/// largest_size.
[[nodiscard]] constexpr std::uint64_t class_bytes(block_layout block,
                                                  std::uint64_t count) noexcept {
  if (count <= detail::most_numbered<std::uint8_t>)
    return detail::class_bytes_with<std::uint8_t>(block, count);
  if (count <= detail::most_numbered<std::uint16_t>)
    return detail::class_bytes_with<std::uint16_t>(block, count);
  if (count <= detail::most_numbered<std::uint32_t>)
    return detail::class_bytes_with<std::uint32_t>(block, count);
  return too_many_bytes;
}

/// Returns: the bytes of a class of `bytes` bytes with `rest` behind it, whose alignment is
/// `rest_alignment`.
[[nodiscard]] constexpr std::uint64_t together(std::uint64_t bytes, std::uint64_t alignment,
                                               std::uint64_t rest,
                                               std::uint64_t rest_alignment) noexcept {
  return align_up(align_up(bytes, rest_alignment) + rest, std::max(alignment, rest_alignment));
}

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

/// Returns: the bytes of a class whose largest need is `last`; too many where it would be asked for
/// larger needs.
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

/// Returns: the bytes of a set of these classes, smallest block first: together() from the last to
/// the first.
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
