// tools/tune/partition.hpp: the cheapest way to cut the needs into classes, exactly. Layer: tune.
//
// The cost of a class is that of its peak, and to know all peaks would take a reading of the traces for each of n * n / 2
// intervals. So the search begins with bounds below the peaks (the blocks alive at a few moments) and repeats: find the
// cheapest partition for the bounds; find the true peaks of its intervals; where one is above its bound, the moment at
// which it was reached joins the moments, which raises the bounds of all intervals. It ends when the bounds of the
// cheapest partition are its peaks: no other one costs less, since no other one costs less than its bounds say. Where all
// inputs are profiles, the first bounds are the peaks, and there is one search.
// The moments remain as a witness: with them alone anybody can repeat the last search (docs/tuning.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/tune/inputs.hpp"
#include "tools/tune/interval_peaks.hpp"
#include "tools/tune/sizing.hpp"

namespace ashlar::tune {

struct partition {
  std::vector<interval> parts;  ///< from small to large needs; together all of them
  std::vector<size_class> classes;
  std::uint64_t bytes = 0;
};

struct partition_search {
  std::vector<partition>
      best;  ///< best[k - 1]: the cheapest of at most k classes; as many as were asked for
  std::vector<moment> witness;
  std::size_t rounds = 0;
};

enum class search_for { largest_only, each_number };

/// More needs than this would take minutes.
inline constexpr std::size_t most_needs = std::size_t{1} << 16;

/// Returns: the cheapest partition into at most `most_classes` classes; with each_number, that for each smaller number
/// too. Requires: 0 < most_classes; at most most_needs needs. Complexity: in each round as interval_program::run, and
/// a reading of the traces for each number that is not settled, at most; in practice some rounds.
[[nodiscard]] partition_search cheapest_partitions(const interval_peaks& peaks,
                                                   std::size_t most_classes, search_for wanted,
                                                   std::uint64_t margin_percent,
                                                   const progress& tell = {});

}  // namespace ashlar::tune
