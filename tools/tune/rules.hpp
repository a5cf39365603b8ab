// tools/tune/rules.hpp: what other ways of choosing classes come to, in the same bytes, to compare with. Layer: tune.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/tune/interval_peaks.hpp"
#include "tools/tune/sizing.hpp"

namespace ashlar::tune {

/// A class for each power of two that a need rounds up to, with the peak of what is alive of it.
[[nodiscard]] std::vector<size_class> power_of_two_rule(const interval_peaks& peaks,
                                                        std::uint64_t margin_percent);

/// The cheapest at most `most_classes` classes where a class has a block for the peak of each of its needs, as if all
/// peaks fell together: Drone OS's rule, with the best partition for it.
[[nodiscard]] std::vector<size_class> summed_peaks_rule(const interval_peaks& peaks,
                                                        std::size_t most_classes,
                                                        std::uint64_t margin_percent);

/// From a class for each need on, the two neighbours whose union costs least become one, until there are at most
/// `most_classes`, and then while that saves bytes. Complexity: O(needs) peaks.
[[nodiscard]] std::vector<size_class> greedy_rule(const interval_peaks& peaks,
                                                  std::size_t most_classes,
                                                  std::uint64_t margin_percent);

}  // namespace ashlar::tune
