// tools/tune/interval_program.hpp: the cheapest partition of the needs for bounds below their
// peaks. Layer: tune.
//
//   least(i, k) = min over j of together(class for i..j, least(j + 1, k - 1))     least(needs, k) = 0
//
// It is exact because together() grows with what is behind, and the alignment of that depends on j
// alone. It runs from the last need to the first, as the bytes of a set add up (sizing.hpp).
//
// Few j are looked at. Law: the bytes of a class for i..j do not fall when j grows, and least(j, k)
// does not rise. So where the class for i..j has b bytes and the best known has m, no larger j is
// better before least(j + 1, k - 1) < m - b: that j is found by bisection. And least(i, k) >=
// least(i + 1, k): where that is reached, the search is over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/profile/profile.hpp"
#include "tools/tune/interval_peaks.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::tune {

/// A bound below the peak of every interval of needs, from the profiles and from the moments of
/// traces looked at so far. Invariant: at(i, j) == max(1, the profiles' peak of i..j, over the
/// moments: blocks alive for needs i..j) <= the peak of i..j. So it does not fall when i gets
/// smaller or j larger.
///
/// A table of all intervals would have n * n / 2 numbers, and each moment would change nearly all
/// of them. Kept are the n prefix sums of each moment, from which an interval's count is one
/// subtraction. And few moments are asked: for i within one stretch of needs and j within another,
/// only those whose most there is not below another one's least.
///
/// Not thread-safe, not even what is const: it keeps which moments were worth to be asked.
class peak_bounds {
 public:
  /// Needs n * stretch ... n * stretch + stretch - 1 are a stretch.
  static constexpr std::size_t stretch = 16;

  /// A need has one birth at least, so its peak is 1 at least. `profiled`: the peaks of profiles,
  /// or null; outlives this.
  explicit peak_bounds(std::size_t needs, const profiling::interval_table* profiled = nullptr)
      : needs_(needs), profiled_(profiled), at_edges_(needs / stretch + 2) {}

  /// Complexity: O(moments worth to be asked), at first O(moments) for each stretch of j; fast
  /// where i stays in one stretch.
  [[nodiscard]] std::int32_t at(std::size_t i, std::size_t j) const {
    std::int32_t most = profiled(i, j);
    const range worth = worth_asking(i / stretch, j / stretch);
    for (std::uint32_t w = worth.begin; w < worth.end; ++w)
      most = std::max(most, alive(worth_[w], i, j));
    return most;
  }

  /// Returns: what at(i, j) is not below, by one moment, and mostly is. Complexity: O(1), at first
  /// as at().
  [[nodiscard]] std::int32_t at_least(std::size_t i, std::size_t j) const {
    const std::int32_t most = profiled(i, j);
    if (below_.empty()) return most;
    return std::max(most, alive(worth_asking(i / stretch, j / stretch).surest, i, j));
  }

  /// Effects: there is one more moment. `alive_below`: as interval_peaks::alive_below. Complexity:
  /// O(needs).
  void raise(std::span<const std::int32_t> alive_below) {
    below_.emplace_back(alive_below.begin(), alive_below.end());
    for (std::size_t s = 0; s < at_edges_.size(); ++s)
      at_edges_[s].push_back(alive_below[std::min(s * stretch, needs_)]);
    first_ = no_stretch;
  }

 private:
  static constexpr std::size_t no_stretch = SIZE_MAX;

  /// Moments from worth_.
  struct range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;     // 0: not known yet
    std::uint32_t surest = 0;  // the moment that has the most at least, if there is one
  };

  [[nodiscard]] std::int32_t profiled(std::size_t i, std::size_t j) const {
    return profiled_ == nullptr ? 1 : std::max(1, static_cast<std::int32_t>(profiled_->at(i, j)));
  }
  [[nodiscard]] std::int32_t alive(std::uint32_t m, std::size_t i, std::size_t j) const {
    return below_[m][j + 1] - below_[m][i];
  }

  /// `first`, `last`: numbers of stretches.
  [[nodiscard]] const range& worth_asking(std::size_t first, std::size_t last) const {
    if (first != first_) {
      first_ = first;
      by_last_.assign(at_edges_.size(), range{});
      worth_.assign(1, 0);  // so that no range ends at 0
    }
    range& known = by_last_[last];
    if (known.end == 0) known = find_worth(first, last);
    return known;
  }

  [[nodiscard]] range find_worth(std::size_t first, std::size_t last) const {
    // More blocks are alive below a larger need, never fewer.
    const std::int32_t* const least_before = at_edges_[first].data();
    const std::int32_t* const most_before = at_edges_[first + 1].data();
    const std::int32_t* const least_behind = at_edges_[last].data();
    const std::int32_t* const most_behind = at_edges_[last + 1].data();
    const auto moments = static_cast<std::uint32_t>(below_.size());
    range found{static_cast<std::uint32_t>(worth_.size()), 0, 0};
    std::int32_t sure = INT32_MIN;
    for (std::uint32_t m = 0; m < moments; ++m) {
      const std::int32_t least = least_behind[m] - most_before[m];
      if (least > sure) found.surest = m;
      sure = std::max(sure, least);
    }
    sure = std::max(sure, 2);  // 1 is the bound without any
    for (std::uint32_t m = 0; m < moments; ++m)
      if (most_behind[m] - least_before[m] >= sure) worth_.push_back(m);
    found.end = static_cast<std::uint32_t>(worth_.size());
    return found;
  }

  std::size_t needs_;
  const profiling::interval_table* profiled_;
  // Of each moment, blocks alive for needs before n, by n; and the same by stretch and moment, for
  // n at its begin.
  std::vector<std::vector<std::int32_t>> below_;
  std::vector<std::vector<std::int32_t>> at_edges_;
  // For i in stretch first_, by the stretch of j: the moments that can be the highest.
  mutable std::size_t first_ = no_stretch;
  mutable std::vector<range> by_last_;
  mutable std::vector<std::uint32_t> worth_;
};

class interval_program {
 public:
  /// Requires: `needs` outlives this, and is not empty; 0 < most_classes.
  interval_program(std::span<const block_need> needs, std::size_t most_classes,
                   std::uint64_t margin_percent);

  /// Complexity: O(needs^2 * most_classes) bounds where all cuts cost nearly the same, seldom more
  /// than O(needs * sqrt(needs * most_classes)).
  void run(const peak_bounds& bounds);

  /// Returns: the bytes of the cheapest set of at most `classes` classes, by the last run().
  [[nodiscard]] std::uint64_t least(std::size_t classes) const { return column(classes)[0]; }

  /// Returns: the partition that has them; of several, that with the fewest classes, then the
  /// smallest first ones. Requires: the bounds of the last run().
  [[nodiscard]] std::vector<interval> partition_of(std::size_t classes,
                                                   const peak_bounds& bounds) const;

 private:
  /// The first class ends with need `last`; all classes together have `bytes`.
  struct cut {
    std::size_t last;
    std::uint64_t bytes;
  };
  struct class_bytes_at {
    std::uint64_t alone;
    std::uint64_t with_rest;  // UINT64_MAX where the class would be asked for larger needs
  };
  /// At [j]: behind the last need up to j that is so aligned; 0: there is none.
  struct alignment_level {
    std::uint64_t alignment;
    std::vector<std::uint32_t> behind_last;
  };

  /// At [i]: the least bytes for the needs from i on in at most so many classes. It falls.
  [[nodiscard]] const std::uint64_t* column(std::size_t classes) const {
    return least_.data() + classes * (needs_.size() + 1);
  }
  void find_least(std::size_t i, std::size_t k, std::size_t& last, const peak_bounds& bounds);
  [[nodiscard]] std::uint64_t alignment_of(std::size_t first, std::size_t last) const;
  [[nodiscard]] class_bytes_at bytes_of(interval served, std::int32_t peak,
                                        std::size_t classes) const;
  [[nodiscard]] std::size_t first_at_most(std::size_t classes, std::size_t from,
                                          std::uint64_t most) const;
  [[nodiscard]] cut first_within(std::uint64_t most, std::size_t first, std::size_t from,
                                 std::size_t classes, const peak_bounds& bounds) const;

  std::span<const block_need> needs_;
  std::size_t most_classes_;
  std::uint64_t margin_;
  std::vector<alignment_level> levels_;  // from the largest alignment to the smallest
  std::vector<std::uint64_t>
      behind_alignment_;              // at [i]: of a set of classes for the needs from i on
  std::vector<std::uint64_t> least_;  // columns of 0 ... most_classes classes
};

}  // namespace ashlar::tune
