// tools/tune/interval_program.hpp: the cheapest partition of the needs for peaks that are told. Layer: tune.
//
//   least(i, k) = min over j of together(class for i..j, least(j + 1, k - 1))     least(needs, k) = 0
//
// It is exact because together() grows with what is behind, and the alignment of that depends on j alone. It runs from
// the last need to the first, as the bytes of a set add up (geometry.hpp).
//
// Few j are looked at. Law: the bytes of a class for i..j do not fall when j grows, and least(j, k) does not rise. So
// where the class for i..j has b bytes and the best known has m, no larger j is better before least(j + 1, k - 1) < m - b:
// that j is found by bisection. And least(i, k) >= least(i + 1, k): where that is reached, the search is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/tune/interval_peaks.hpp"
#include "tools/tune/peak_bounds.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::tune {

class interval_program {
 public:
  /// Requires: `needs` outlives this, and is not empty; 0 < most_classes.
  interval_program(std::span<const block_need> needs, std::size_t most_classes,
                   std::uint64_t margin_percent);

  /// Complexity: O(needs^2 * most_classes) bounds where all cuts cost nearly the same, seldom more than
  /// O(needs * sqrt(needs * most_classes)).
  void run(const peak_bounds& bounds);

  /// Returns: the bytes of the cheapest set of at most `classes` classes, by the last run().
  [[nodiscard]] std::uint64_t least(std::size_t classes) const { return column(classes)[0]; }

  /// Returns: the partition that has them; of several, that with the fewest classes, then the smallest first ones.
  /// Requires: the bounds of the last run().
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
