// core/count_ones.hpp: how many bits are 1. Not std::popcount, which is a library call on
// processors that cannot.
// Layer: core (freestanding). constexpr, O(1), thread-safe, never throws.
#pragma once

#include <cstdint>

namespace ashlar::detail {

/// Returns: how many bits of `bits` are 1. By sums of neighbours (Warren, Hacker's Delight, figure
/// 5-2).
[[nodiscard]] constexpr unsigned count_ones(std::uint64_t bits) noexcept {
  constexpr std::uint64_t odd = 0x5555555555555555u, pairs = 0x3333333333333333u,
                          nibbles = 0x0f0f0f0f0f0f0f0fu, bytes = 0x0101010101010101u;
  bits -= bits >> 1 & odd;
  bits = (bits & pairs) + (bits >> 2 & pairs);
  bits = (bits + (bits >> 4)) & nibbles;
  return static_cast<unsigned>(bits * bytes >> 56);
}

}  // namespace ashlar::detail
