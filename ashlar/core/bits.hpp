// core/bits.hpp: powers of two and alignment.
// Layer: core (freestanding). All functions are constexpr, O(1), thread-safe, and never throw.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar {

/// Returns: whether `n` is a power of two (0 is not).
[[nodiscard]] constexpr bool is_power_of_two(std::size_t n) noexcept {
  // Not std::has_single_bit: it counts bits, which is a library call on processors that cannot.
  return n != 0 && (n & (n - 1)) == 0;
}

/// Requires: `alignment` is a power of two. Returns: the largest multiple of it that is <= n.
[[nodiscard]] constexpr std::size_t align_down(std::size_t n, std::size_t alignment) noexcept {
  return n & ~(alignment - 1);
}

/// Requires: `alignment` is a power of two; n + alignment - 1 does not overflow (see
/// `align_up_checked`). Returns: the smallest multiple of `alignment` that is >= n.
[[nodiscard]] constexpr std::size_t align_up(std::size_t n, std::size_t alignment) noexcept {
  return align_down(n + alignment - 1, alignment);
}

/// As `align_up`, but for sizes that come from a caller. Returns: false, and leaves `result`, on
/// overflow.
[[nodiscard]] constexpr bool align_up_checked(std::size_t n, std::size_t alignment,
                                              std::size_t& result) noexcept {
  std::size_t sum = 0;
  if (__builtin_add_overflow(n, alignment - 1, &sum)) return false;
  result = align_down(sum, alignment);
  return true;
}

/// Returns: whether `p` is a multiple of `alignment` (a power of two).
[[nodiscard]] inline bool is_aligned(const void* p, std::size_t alignment) noexcept {
  return (reinterpret_cast<std::uintptr_t>(p) & (alignment - 1)) == 0;
}

/// Returns: the smaller, the larger of two. (The library's are in the header `algorithm`,
/// which is not freestanding.)
[[nodiscard]] constexpr std::size_t min_of(std::size_t a, std::size_t b) noexcept {
  return b < a ? b : a;
}
[[nodiscard]] constexpr std::size_t max_of(std::size_t a, std::size_t b) noexcept {
  return a < b ? b : a;
}

/// Returns: n / d, rounded up. Requires: d > 0.
[[nodiscard]] constexpr std::size_t divide_up(std::size_t n, std::size_t d) noexcept {
  return n / d + (n % d != 0 ? 1 : 0);
}

}  // namespace ashlar
