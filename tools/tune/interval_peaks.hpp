// tools/tune/interval_peaks.hpp: the most blocks of needs first..last that are alive at one time, for any interval.
// Layer: tune.
//
// A trace is cut into windows. Of each there are prefix sums over the needs of the blocks alive at its start: for an
// interval, their difference is a peak that was reached. And there are sums of the most blocks of each need that are alive
// within it, and of each group of neighbouring needs: a maximum of sums is at most the sum of the maxima, so an interval's
// peak within the window is at most the sum over the groups that it is made of.
//
//   needs 3..21        3 | 4 ... 7 | 8 ... 15 | 16 ... 19 | 20 | 21        by groups of 4 and 16: the fewest that make it up
//
// Only windows where that is above what has been found are read again, event by event. What profiles reached is found
// before any trace is looked at.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/tune/prefix_table.hpp"
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

class interval_peaks {
 public:
  /// Requires: `load` outlives this and has a need. Complexity: one reading of the traces.
  explicit interval_peaks(const workload& load);

  [[nodiscard]] const workload& load() const noexcept { return load_; }
  [[nodiscard]] std::size_t need_count() const noexcept { return load_.needs.size(); }

  /// Returns: the peak of each. Requires: no two overlap. Complexity: O(windows) for each, and at most one reading of the
  /// traces for all of them.
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
