// core/exact_divisor.hpp: "is n a multiple of d, and which?" by one multiplication, no division.
// Layer: core (freestanding). constexpr, O(1), thread-safe.
//
// Law: with d = odd << shift and inverse * odd == 1 modulo 2^w, the map n -> rotate_right(n *
// inverse, shift) is one to one on w-bit words and takes each multiple k * d to k. The multiples
// fill [0, max / d] completely, so everything else lands above it. Hence for any count with
// count * d <= max:
//   quotient(n) < count  <=>  n == k * d with k < count, and then quotient(n) == k.
// One compare answers range, stride and index. (Granlund and Montgomery, "Division by invariant
// integers using multiplication", 1994, section 9.)
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <limits>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

template <std::unsigned_integral Word = std::size_t>
class exact_divisor {
 public:
  /// Divides by 1.
  constexpr exact_divisor() noexcept = default;

  /// Requires: d > 0.
  explicit constexpr exact_divisor(Word d) noexcept : shift_(std::countr_zero(d)) {
    const Word odd = static_cast<Word>(d >> shift_);
    // Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the
    // number of right bits.
    Word x = odd;
    for (int bits = 3; bits < std::numeric_limits<Word>::digits; bits *= 2) {
      x = multiply(x, static_cast<Word>(2u - multiply(odd, x)));
    }
    inverse_ = x;
  }

  [[nodiscard]] ASHLAR_HOT constexpr Word quotient(Word n) const noexcept {
    return std::rotr(multiply(n, inverse_), shift_);
  }
  /// Returns: the one n with quotient(n) == q. Requires: `d` is what this divides by.
  [[nodiscard]] constexpr Word dividend(Word q, Word d) const noexcept {
    return multiply(std::rotl(q, shift_), static_cast<Word>(d >> shift_));
  }

 private:
  // 1u first: a product of two 16-bit words is computed in int, where it may overflow.
  static constexpr Word multiply(Word a, Word b) noexcept {
    if constexpr (sizeof(Word) < sizeof(unsigned)) {
      return static_cast<Word>(1u * a * b);
    } else {
      return a * b;
    }
  }

  Word inverse_ = 1;
  int shift_ = 0;
};

}  // namespace ashlar::detail
