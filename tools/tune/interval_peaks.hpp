// tools/tune/interval_peaks.hpp: the most blocks of needs first..last that are alive at one time, for any interval.
// Layer: tune.
//
// A trace is cut into windows. Of each there are two rows of prefix sums over the needs: blocks alive at its start, and
// the most of each single need that is alive within it. For an interval, the difference of the first is a peak that was
// reached, and that of the second one that was not passed: a maximum of sums is at most the sum of the maxima. Only
// windows whose second is above what has been found are read again, event by event. What profiles reached is found before
// any trace is looked at.
#pragma once

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
  friend bool operator==(const moment&, const moment&) = default;
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
  // Row n of a table: for each window, its prefix sum over the needs before n.
  [[nodiscard]] const std::int32_t* starts(std::size_t n) const {
    return starts_.data() + n * windows_.size();
  }
  [[nodiscard]] const std::int32_t* tops(std::size_t n) const {
    return tops_.data() + n * windows_.size();
  }

  const workload& load_;
  std::vector<window> windows_;
  std::vector<std::int32_t> starts_;
  std::vector<std::int32_t> tops_;
};

}  // namespace ashlar::tune
