// tools/sites/trend.hpp: does a series rise, how fast, and how sure is that? Layer: sites.
#pragma once

#include <cstdint>
#include <span>

namespace ashlar::sites {

/// Of n values x[0], x[1], ... at equal distances. S is the number of pairs i < j with x[j] > x[i],
/// less the number of those with x[j] < x[i].
struct trend {
  /// Sen's slope, by which x rises from one value to the next: the median of (x[j] - x[i]) / (j - i)
  /// over all pairs i < j. Source: P. K. Sen, Journal of the American Statistical Association 63
  /// (1968), 1379-1389.
  double slope = 0;
  /// Kendall's tau, S / (n (n - 1) / 2): 1 where each value is above all before it; 0 where as many
  /// pairs fall as rise. Pairs of equal values count as neither.
  double tau = 0;
  /// How sure it is that x rises: 1 less the one-sided p of the test by Mann and Kendall. That is
  /// Phi(Z), where Phi is the normal distribution, Z = (S - 1) / sqrt(V), and
  /// V = (n (n - 1) (2n + 5) - sum over groups of t equal values of t (t - 1) (2t + 5)) / 18. It is 0
  /// where S <= 0. Sources: H. B. Mann, Econometrica 13 (1945), 245-259; M. G. Kendall, Rank
  /// Correlation Methods (1975). The test takes the values as independent of each other.
  double confidence = 0;
};

/// Complexity: the square of the number of values. Returns: all 0 for fewer than two values.
[[nodiscard]] trend trend_of(std::span<const std::uint64_t> values);

/// The tau and the confidence alone, which need no memory.
[[nodiscard]] trend test_of(std::span<const std::uint64_t> values);

}  // namespace ashlar::sites
