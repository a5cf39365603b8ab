// tools/tune/tuning.hpp: from what was asked on the command line to the classes, and what powers of two come to. Layer: tune.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/tune/interval_peaks.hpp"
#include "tools/tune/partition.hpp"
#include "tools/tune/sizing.hpp"

namespace ashlar::tune {

inline constexpr std::size_t most_classes = 256;
/// Of the curve of bytes against number of classes.
inline constexpr std::size_t curve_classes = 24;
/// The knee: the smallest number of classes from which on more save at most this part of the bytes.
inline constexpr std::uint64_t knee_percent = 5;

struct tuning_request {
  std::optional<std::size_t> classes =
      std::nullopt;  ///< at most so many; none: the knee of the curve
  std::uint64_t margin_percent = 0;
  std::optional<std::uint64_t> budget_bytes = std::nullopt;
};

struct tuning {
  std::vector<size_class> classes;
  std::uint64_t bytes = 0;
  std::size_t asked_classes =
      0;  ///< the bytes are the least of all sets of at most so many classes
  std::vector<std::uint64_t>
      curve;  ///< where the knee was looked for: at [k - 1], the least with k classes
  std::vector<moment> witness;
  std::uint64_t powers_of_two = 0;  ///< the bytes of that rule, where the knee was looked for
};

/// Throws: impossible.
[[nodiscard]] tuning tune_static(const workload& load, const tuning_request& request,
                                 const progress& tell = {});

/// Returns: the number of classes at the knee: the smallest whose bytes are at most knee_percent
/// above the curve's least, and not above `other_rule`; the one with the least bytes if there is
/// none. Requires: the curve is not empty, and falls.
[[nodiscard]] std::size_t knee_of(const std::vector<std::uint64_t>& curve,
                                  std::uint64_t other_rule);

/// A class for each power of two that a need rounds up to, with the peak of what is alive of it.
[[nodiscard]] std::vector<size_class> power_of_two_rule(const interval_peaks& peaks,
                                                        std::uint64_t margin_percent);

}  // namespace ashlar::tune
