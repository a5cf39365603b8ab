// pool/run_map.hpp: which of N slots are taken, as runs of neighbours that are given back whole.
// Layer: pool (freestanding). One caller at a time.
//
//   taken  1 1 1 0 1 1 0 0      three runs, of 2, 1 and 2 slots: two bits a slot, and a run needs
//   last   0 1 1 0 0 1 0 0      no length of its own
// Invariant: count_ bits of taken are set; last is a subset of taken; a slot before a free one or
// at the end is last if it is taken; no slot of a word before hint_ is free. Bits from N on are
// never set. A map that was never used is all zero bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>

namespace ashlar::detail {

template <std::size_t N>
class run_map {
  using word = std::size_t;
  static constexpr std::size_t word_bits = 8 * sizeof(word);
  static constexpr std::size_t word_count = (N + word_bits - 1) / word_bits;

 public:
  static constexpr std::size_t none = SIZE_MAX;

  /// Effects: the first `n` free neighbours become a run. Returns: the index of its first slot, or
  /// `none`. Requires: n > 0. Complexity: O(words + runs), O(1) while slots are free near the
  /// lowest free one.
  [[nodiscard]] std::size_t take(std::size_t n) noexcept {
    if (n > N) return none;
    std::size_t i = next(taken_, hint_ * word_bits, false);
    hint_ = min_of(i, N - 1) / word_bits;
    while (i <= N - n) {
      const std::size_t end = n == 1 ? i + 1 : next(taken_, i, true);
      if (end - i >= n) {
        set(i, n, true);
        last_[(i + n - 1) / word_bits] |= bit(i + n - 1);
        count_ += n;
        return i;
      }
      i = next(taken_, end, false);
    }
    return none;
  }

  /// Returns: how many slots the run has that begins at slot `i`; 0 if none does. O(length / word).
  [[nodiscard]] std::size_t length(std::size_t i) const noexcept {
    if (!is_taken(i)) return 0;
    if (i != 0 && is_taken(i - 1) && (last_[(i - 1) / word_bits] & bit(i - 1)) == 0) return 0;
    return next(last_, i, true) - i + 1;
  }

  /// Effects: the run that begins at slot `i`, of length(i) > 0 slots, is free.
  void give(std::size_t i) noexcept {
    const std::size_t n = length(i);
    set(i, n, false);
    last_[(i + n - 1) / word_bits] &= ~bit(i + n - 1);
    hint_ = min_of(hint_, i / word_bits);
    count_ -= n;
  }

  [[nodiscard]] bool is_taken(std::size_t i) const noexcept {
    return i < N && (taken_[i / word_bits] & bit(i)) != 0;
  }
  /// Returns: how many slots are taken. Counted, not looked up: to count bits is a library call
  /// where the processor cannot.
  [[nodiscard]] std::size_t taken() const noexcept { return count_; }

 private:
  [[nodiscard]] static constexpr word bit(std::size_t i) noexcept {
    return word{1} << i % word_bits;
  }
  /// Returns: the first slot from `i` on whose bit in `map` is `value`; N if there is none.
  /// Requires: i < N.
  [[nodiscard]] static std::size_t next(const word (&map)[word_count], std::size_t i,
                                        bool value) noexcept {
    const word invert = value ? 0 : ~word{0};
    std::size_t w = i / word_bits;
    word bits = (map[w] ^ invert) & (~word{0} << i % word_bits);
    while (bits == 0) {
      if (++w == word_count) return N;
      bits = map[w] ^ invert;
    }
    return min_of(w * word_bits + static_cast<std::size_t>(std::countr_zero(bits)), N);
  }
  void set(std::size_t i, std::size_t n, bool value) noexcept {
    while (n != 0) {
      const std::size_t here = min_of(n, word_bits - i % word_bits);
      const word mask = (~word{0} >> (word_bits - here)) << i % word_bits;
      taken_[i / word_bits] = value ? taken_[i / word_bits] | mask : taken_[i / word_bits] & ~mask;
      i += here;
      n -= here;
    }
  }

  std::size_t hint_ = 0;
  std::size_t count_ = 0;
  word taken_[word_count] = {};
  word last_[word_count] = {};
};

}  // namespace ashlar::detail
