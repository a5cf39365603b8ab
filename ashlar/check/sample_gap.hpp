// check/sample_gap.hpp: which blocks are sampled: at random, so that estimates have no bias.
// Layer: check.
//
//   bytes that a thread allocates:  |--block--|-block-|------block------|-block-| ...
//                                   |----------- gap -----------^ this block is sampled
//
// A gap is exponential with the mean `every`. So the bytes that were allocated since the last
// sample tell nothing of the next one, and a block of n bytes is sampled with the probability 1 -
// exp(-(n + 1) / every), whatever comes before it. One that is sampled stands for one block divided
// by that. No C library has to be there: log, exp and roots are here, to some 15 digits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

/// Returns: the natural logarithm of x. Requires: x is positive and normal.
[[nodiscard]] constexpr double natural_log(double x) noexcept {
  constexpr double log_2 = 0.6931471805599453;
  constexpr double root_2 = 1.4142135623730951;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m =
      std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1023} << 52);
  if (m > root_2) {
    m /= 2;
    ++exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1)), whose argument is at most 0.18.
  const double s = (m - 1) / (m + 1);
  double sum = 0, power = s;
  for (int k = 1; k <= 21; k += 2, power *= s * s) sum += power / k;
  return exponent * log_2 + 2 * sum;
}

/// Returns: 1 - exp(-x). Requires: x >= 0.
[[nodiscard]] constexpr double one_minus_exp(double x) noexcept {
  if (x > 50) return 1;
  int doublings = 0;
  for (; x > 1.0 / 64; x /= 2) ++doublings;
  double q = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6)))));
  for (; doublings != 0; --doublings) q = q * (2 - q);
  return q;
}

/// Returns: the square root of x. Requires: x is finite and not negative.
[[nodiscard]] constexpr double square_root(double x) noexcept {
  if (x == 0) return 0;
  // Half of the exponent, and Newton's steps: each doubles the right digits, of which 4 bits are
  // there.
  double root =
      std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) >> 1) + (std::uint64_t{1023} << 51));
  for (int i = 0; i < 5; ++i) root = (root + x / root) / 2;
  return root;
}

/// Returns: how many bytes an allocation of `size` counts: one more, so that one of no bytes can be
/// sampled. Estimates are of `size` all the same.
[[nodiscard]] constexpr std::uint64_t sampled_bytes(std::size_t size) noexcept {
  return std::uint64_t{size} + 1;
}

/// Returns: how many blocks of `size` one that is sampled stands for.
[[nodiscard]] constexpr double blocks_for_one(std::size_t size, std::uint64_t every) noexcept {
  return 1 / one_minus_exp(static_cast<double>(sampled_bytes(size)) / static_cast<double>(every));
}

/// A thread's place in its gap. What is in reach of hits is at most `reach_max` of it: so what a
/// hit passes is small, and a thread soon sees that another mean is asked for.
///
/// A gap decides on the allocation at which that is seen, and the next one has the new mean. So
/// what decides on an allocation never depends on what is decided.
class sample_gap {
 public:
  static constexpr std::uint64_t reach_max = 64 * 1024;

  /// Returns: whether an allocation of `size` is in reach of hits, so that it is not sampled.
  [[nodiscard]] ASHLAR_HOT constexpr bool reaches(std::size_t size) const noexcept {
    return size < in_reach_;
  }
  /// Effects: the allocation's bytes leave the gap. Requires: reaches(size).
  ASHLAR_HOT constexpr void pass(std::size_t size) noexcept { in_reach_ -= sampled_bytes(size); }

  /// Returns: whether the gap goes on behind an allocation of `size`. The first one has no gap.
  [[nodiscard]] constexpr bool has_room_for(std::size_t size) const noexcept {
    return size < in_reach_ + beyond_;
  }

  /// Effects: the allocation's bytes leave the gap; behind its end a new one is drawn, with the
  /// mean `every`. Returns: 0, or the mean of the gap that ended: the allocation is sampled. `seed`
  /// is for a thread's first gap.
  template <class Seed>
  [[nodiscard]] constexpr std::uint64_t ended_at(std::size_t size, std::uint64_t every,
                                                 Seed seed) noexcept {
    if (mean_ == 0) {
      random_ = seed();
      begin(every);
    }
    const std::uint64_t mean = mean_;
    const bool ends = !has_room_for(size);
    if (ends || mean != every)
      begin(every);
    else
      put_in_reach(in_reach_ + beyond_ - sampled_bytes(size));
    return ends ? mean : 0;
  }

 private:
  constexpr void begin(std::uint64_t every) noexcept {
    mean_ = every;
    put_in_reach(draw(every) - 1);
  }
  constexpr void put_in_reach(std::uint64_t left) noexcept {
    in_reach_ = left < reach_max ? left : reach_max;
    beyond_ = left - in_reach_;
  }
  /// Returns: n > 0 with the probability exp(-(n - 1) / every) - exp(-n / every).
  [[nodiscard]] constexpr std::uint64_t draw(std::uint64_t every) noexcept {
    // SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
    std::uint64_t x = random_ += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    constexpr double steps = 9007199254740992;                    // 2^53
    const double u = (static_cast<double>(x >> 11) + 1) / steps;  // in (0, 1]
    return 1 + static_cast<std::uint64_t>(-natural_log(u) * static_cast<double>(every));
  }

  std::uint64_t in_reach_ = 0;  ///< bytes before the sampled one
  std::uint64_t beyond_ = 0;    ///< and behind those
  std::uint64_t mean_ = 0;      ///< of this gap; 0: none was drawn
  std::uint64_t random_ = 0;
};

}  // namespace ashlar::detail
