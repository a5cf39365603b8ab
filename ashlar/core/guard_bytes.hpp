// core/guard_bytes.hpp: what checks write into blocks and behind them, and which freed blocks wait.
// Layer: core (freestanding).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar {
namespace detail {

// Of lock-free pools; where one caller at a time comes, a block's link says it
// (core/number_list.hpp). A byte a block and not a bit: a bit would need a compare-and-swap.
enum class block_state : std::uint8_t { free = 0, live = 1 };

// Patterns of pools and heaps: odd, so that a pointer read from them is misaligned, and not 0 or
// 0xff, which programs write by themselves.
inline constexpr std::uint8_t fresh_fill = 0xa5;
inline constexpr std::uint8_t freed_fill = 0xdf;

// Loops, not memset and memcmp: nothing but these three touches the bytes, and a freestanding
// program may have neither. (A compiler that makes memset of a loop asks the program for it, as
// the language's freestanding rules let it.)
inline void fill_bytes(std::byte* p, std::size_t n, std::uint8_t value) noexcept {
  for (std::size_t i = 0; i < n; ++i) p[i] = std::byte{value};
}
[[nodiscard]] inline bool bytes_are(const std::byte* p, std::size_t n,
                                    std::uint8_t value) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    if (p[i] != std::byte{value}) return false;
  }
  return true;
}

// The canary depends on its address: copying a whole slot over another is an overflow too.
[[nodiscard]] inline std::byte canary_at(const std::byte* p) noexcept {
  const auto a = reinterpret_cast<std::uintptr_t>(p);
  return std::byte{static_cast<std::uint8_t>((a ^ (a >> 8) ^ (a >> 16)) * 0x9Du + 0x5Bu)};
}
inline void write_canary(std::byte* p, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) p[i] = canary_at(p + i);
}
[[nodiscard]] inline bool canary_intact(const std::byte* p, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    if (p[i] != canary_at(p + i)) return false;
  }
  return true;
}

/// The last N freed blocks, first in, first out.
/// Invariant: size() <= N; the blocks are ring[first], ring[first + 1], ... modulo N.
template <std::size_t N>
class quarantine {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Effects: `p` enters. Returns: the block that had to leave, or null.
  std::byte* push(std::byte* p) noexcept {
    if constexpr (N == 0) {
      return p;
    } else {
      if (size_ < N) {
        ring_[(first_ + size_++) % N] = p;
        return nullptr;
      }
      std::byte* oldest = ring_[first_];
      ring_[first_] = p;
      first_ = (first_ + 1) % N;
      return oldest;
    }
  }
  /// Returns: the oldest, which leaves, or null when there is none.
  std::byte* pop() noexcept {
    if constexpr (N == 0) {
      return nullptr;
    } else {
      if (size_ == 0) return nullptr;
      std::byte* oldest = ring_[first_];
      first_ = (first_ + 1) % N;
      --size_;
      return oldest;
    }
  }

 private:
  std::byte* ring_[N == 0 ? 1 : N] = {};
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace detail
}  // namespace ashlar
