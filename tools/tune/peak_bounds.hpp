// tools/tune/peak_bounds.hpp: a bound below the peak of every interval of needs, from the profiles and from the moments of
// traces looked at so far. Layer: tune.
// Invariant: at(i, j) == max(1, over the profiles: their peak of i..j, over the moments: blocks alive for needs i..j) <=
// the peak of i..j.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ashlar::tune {

class peak_bounds {
 public:
  /// A need has one birth at least, so its peak is 1 at least.
  explicit peak_bounds(std::size_t needs) : needs_(needs), rows_(needs * (needs + 1) / 2, 1) {}

  /// Row i: the bounds of i..i, i..i+1, ..., i..needs-1.
  [[nodiscard]] std::span<const std::int32_t> from(std::size_t i) const {
    return {rows_.data() + begin_of(i), needs_ - i};
  }
  [[nodiscard]] std::int32_t at(std::size_t i, std::size_t j) const { return from(i)[j - i]; }

  void raise(std::size_t i, std::size_t j, std::int32_t blocks) {
    std::int32_t& known = rows_[begin_of(i) + (j - i)];
    known = std::max(known, blocks);
  }

  /// `below`: as interval_peaks::alive_below. Complexity: O(needs^2).
  void raise(std::span<const std::int32_t> below) {
    for (std::size_t i = 0; i < needs_; ++i) {
      std::int32_t* const row = rows_.data() + begin_of(i);
      const std::int32_t* const behind = below.data() + i + 1;
      const std::int32_t before = below[i];
      for (std::size_t j = 0; j < needs_ - i; ++j) row[j] = std::max(row[j], behind[j] - before);
    }
  }

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t i) const { return i * (2 * needs_ - i + 1) / 2; }

  std::size_t needs_;
  std::vector<std::int32_t> rows_;
};

}  // namespace ashlar::tune
