// tools/tune/interval_peaks.hpp: the most blocks of needs first..last that are alive at one time,
// for any interval. Layer: tune.
//
// A trace is cut into windows. Of each there are prefix sums over the needs of the blocks alive at
// its start: for an interval, their difference is a peak that was reached. And there are sums of
// the most blocks of each need that are alive within it, and of each group of neighbouring needs: a
// maximum of sums is at most the sum of the maxima, so an interval's peak within the window is at
// most the sum over the groups that it is made of.
//
//   needs 3..21        3 | 4 ... 7 | 8 ... 15 | 16 ... 19 | 20 | 21        by groups of 4 and 16: the fewest that make it up
//
// Only windows where that is above what has been found are read again, event by event. What
// profiles reached is found before any trace is looked at.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/tune/workload.hpp"

namespace ashlar::tune {

/// Needs first..last, both included.
struct interval {
  std::size_t first;
  std::size_t last;
};

/// After the first `changes` changes of a trace.
struct moment {
  std::uint32_t trace = 0;
  std::uint32_t changes = 0;
  friend auto operator<=>(const moment&, const moment&) = default;
};

struct peak {
  std::uint32_t blocks = 0;
  moment at;  ///< one at which that many were alive, unless a profile has as many
};

/// Columns of numbers, summed up from the top; read row by row.
class prefix_table {
 public:
  prefix_table() = default;
  prefix_table(std::size_t numbers_each, std::size_t columns)
      : rows_(numbers_each + 1),
        columns_(columns),
        sums_(rows_ * columns),
        gathered_(rows_ * gathered_columns) {}

  /// Effects: the next column is of these numbers. Requires: there are numbers_each of them; not
  /// more columns than told.
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

class interval_peaks {
 public:
  /// Requires: `load` outlives this and has a need. Complexity: one reading of the traces.
  explicit interval_peaks(const workload& load);

  [[nodiscard]] const workload& load() const noexcept { return load_; }
  [[nodiscard]] std::size_t need_count() const noexcept { return load_.needs.size(); }

  /// Returns: the peak of each. Requires: no two overlap. Complexity: O(windows) for each, and at
  /// most one reading of the traces for all of them.
  [[nodiscard]] std::vector<peak> of(std::span<const interval> apart) const;
  [[nodiscard]] peak of(interval one) const { return of({&one, 1}).front(); }

  /// Returns: at [n], the blocks alive for needs before n; so there is one more than needs.
  [[nodiscard]] std::vector<std::int32_t> alive_below(moment at) const;

 private:
  struct window {
    std::uint32_t trace;
    std::uint32_t begin;  // changes
    std::uint32_t end;
  };

  void cut_into_windows();
  void read_windows();
  [[nodiscard]] std::span<const std::int32_t> changes_of(const window& w) const {
    return std::span(load_.traces[w.trace]).subspan(w.begin, w.end - w.begin);
  }
  void add_tops(interval served, std::span<std::int32_t> bounds) const;
  void read_window(std::size_t w, std::span<const interval> apart,
                   std::span<const std::uint32_t> owner, std::vector<peak>& found) const;

  const workload& load_;
  std::vector<window> windows_;
  prefix_table starts_;             // of each window: blocks alive at its start
  std::vector<prefix_table> tops_;  // of each window and, by level, each group: the most within
};

}  // namespace ashlar::tune
