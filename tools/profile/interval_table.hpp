// tools/profile/interval_table.hpp: a number for each interval first..last of some things in a row. Layer: profile.
//
//   at      0..0 0..1 0..2   1..1 1..2   2..2        a row for each first, all rows one behind the other
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar::profiling {

class interval_table {
 public:
  interval_table() = default;
  /// All are 0.
  explicit interval_table(std::size_t count) : count_(count), numbers_(count * (count + 1) / 2) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Requires: first <= last < count().
  [[nodiscard]] std::uint32_t at(std::size_t first, std::size_t last) const noexcept {
    return numbers_[place(first, last)];
  }
  [[nodiscard]] std::uint32_t& at(std::size_t first, std::size_t last) noexcept {
    return numbers_[place(first, last)];
  }

  friend bool operator==(const interval_table&, const interval_table&) = default;

 private:
  [[nodiscard]] std::size_t place(std::size_t first, std::size_t last) const noexcept {
    return first * (2 * count_ - first + 1) / 2 + (last - first);
  }

  std::size_t count_ = 0;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace ashlar::profiling
