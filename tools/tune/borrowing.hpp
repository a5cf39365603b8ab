// tools/tune/borrowing.hpp: smaller capacities where an exhausted class may take from the next (spill::take_larger).
// Layer: tune.
//
// What is promised is less than without borrowing: that the traces, in their order, do not fail. Another order with the
// same peaks may. tools/tune/proofs.md proves that a promise for every order would cost as much as without borrowing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/tune/partition.hpp"

namespace ashlar::tune {

/// Returns: whether a set of these classes with spill::take_larger serves each trace, one after the other from empty.
/// Requires: load.slots was kept; class_of[n] is the class of need n.
[[nodiscard]] bool serves_by_borrowing(const workload& load,
                                       std::span<const std::uint32_t> class_of,
                                       std::span<const size_class> classes);

struct borrowing {
  std::vector<size_class> classes;
  std::uint64_t bytes = 0;
  /// With these block sizes, no capacities that serve the traces have fewer bytes in blocks.
  std::uint64_t least_block_bytes = 0;
};

/// Returns: the partition's classes with capacities as small as one look at each from large to small finds them, and the
/// margin on top. Never more bytes than the partition. Complexity: O(log capacity) replays for each class.
[[nodiscard]] borrowing lowered_by_borrowing(const interval_peaks& peaks, const partition& from,
                                             std::uint64_t margin_percent,
                                             const progress& tell = {});

}  // namespace ashlar::tune
