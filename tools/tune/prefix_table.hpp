// tools/tune/prefix_table.hpp: columns of numbers, summed up from the top; read row by row. Layer: tune.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ashlar::tune {

class prefix_table {
 public:
  prefix_table() = default;
  prefix_table(std::size_t numbers_each, std::size_t columns)
      : rows_(numbers_each + 1),
        columns_(columns),
        sums_(rows_ * columns),
        gathered_(rows_ * gathered_columns) {}

  /// Effects: the next column is of these numbers. Requires: there are numbers_each of them; not more columns than told.
  void add_column(std::span<const std::int32_t> numbers) {
    std::int32_t* const column = gathered_.data() + used_ % gathered_columns * rows_;
    column[0] = 0;
    for (std::size_t n = 0; n < numbers.size(); ++n) column[n + 1] = column[n] + numbers[n];
    ++used_;
    if (used_ % gathered_columns == 0 || used_ == columns_) write_gathered();
  }

  /// Returns: of each column, the sum of its first `count` numbers.
  [[nodiscard]] std::span<const std::int32_t> of_first(std::size_t count) const {
    return {sums_.data() + count * columns_, columns_};
  }

 private:
  // A column's sums lie far apart: columns are gathered until they fill cache lines.
  static constexpr std::size_t gathered_columns = 16;

  void write_gathered() {
    const std::size_t first = (used_ - 1) / gathered_columns * gathered_columns;
    for (std::size_t n = 0; n < rows_; ++n) {
      for (std::size_t c = first; c < used_; ++c)
        sums_[n * columns_ + c] = gathered_[(c - first) * rows_ + n];
    }
  }

  std::size_t rows_ = 1;
  std::size_t columns_ = 0;
  std::size_t used_ = 0;
  std::vector<std::int32_t> sums_;
  std::vector<std::int32_t> gathered_;
};

}  // namespace ashlar::tune
