// tools/tune/geometry.hpp: the bytes of a class of a static_pool_set, for sizes and counts that are known at run time.
// Layer: tune. Includes: core, pool.
//
//   | counters | list head | links: count + 1 | pad | block | block | ... |     one class
//
// Law: class_bytes(block, count) == sizeof(static_pool_set<blocks<size, count, alignment>>) with the default policies,
// and together(...) over the classes == sizeof(the set). The parts are the pools' own types, geometry_test.cpp compares
// with their sizeof, and so does every header that the tuner writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/number_list.hpp>
#include <ashlar/pool/block_layout.hpp>
#include <ashlar/pool/fixed_pool.hpp>

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

/// Returns: as the law says; too_many_bytes at most. Requires: count > 0, block.size_bytes <= largest_size.
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

/// Returns: the bytes of a class of `bytes` bytes with `rest` behind it, whose alignment is `rest_alignment`.
[[nodiscard]] constexpr std::uint64_t together(std::uint64_t bytes, std::uint64_t alignment,
                                               std::uint64_t rest,
                                               std::uint64_t rest_alignment) noexcept {
  return align_up(align_up(bytes, rest_alignment) + rest, std::max(alignment, rest_alignment));
}

}  // namespace ashlar::tune
