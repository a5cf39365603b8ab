// tools/sites/growth.hpp: the call sites of a run whose live bytes rise all the way. Layer: sites.
//
// That is growth without a leak as well: what a cache without a bound keeps is freed at the end, so
// a list of what is held at the end does not have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/step_counts.hpp"

namespace ashlar::sites {

// Does a series rise, how fast, and how sure is that?

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

/// How something rises over n stretches of a run.
struct growth {
  double bytes_per_stretch = 0;  ///< Sen's slope
  double tau = 0;                ///< Kendall's, of all stretches
  double confidence = 0;         ///< by Mann and Kendall: the lower one of two, as below
};

/// Returns: how it rises; nothing where it does not rise all the way. `least` is the fewest bytes
/// that lived in each stretch. To rise all the way is three things: nearly every stretch is above
/// those before it (tau of at least 0.8), so a saw-tooth or a start-up alone is not enough; the last
/// third rises, too, so a plateau is not enough; and both are sure to 99 %.
[[nodiscard]] std::optional<growth> growth_of(std::span<const std::uint64_t> least);

/// Returns: how many of the run's stretches growth_of() is to see. A program that is about to end
/// frees, and hardly allocates. So the last stretches are left out that have less than 1 % of all
/// births together, at most a fifth of the run, and the one before them, where the end may begin.
[[nodiscard]] std::size_t stretches_of_work(const trace::held_over_time& held);

struct growing_site {
  growth how;
  double bytes_per_second = 0;
  std::uint64_t births = 0;
  std::uint64_t grown = 0;  ///< of these: by realloc, from another block
  std::uint64_t bytes_allocated = 0;
  std::uint64_t bytes_at_end = 0;
  std::uint64_t bytes_lost = 0;  ///< of these: no pointer led to them; 0 where nobody looked
  double bytes = 0;              ///< by which it rose over `seconds`, at that slope
  std::uint32_t stack = 0;       ///< the number of one of its stacks
  std::vector<trace::named_call> calls;  ///< from the inside out
};
struct growing_sites {
  double seconds = 0;               ///< of the run, without the stretches that are left out
  std::vector<growing_site> sites;  ///< the steepest first
  bool was_searched = false;        ///< somebody looked for pointers at exit
};

/// Returns: the call sites that rise all the way; none of a run of less than a second, in which every
/// program builds up what it works on. Stacks whose calls have the same names and lines are one call
/// site. Requires: `held` is of this reader.
[[nodiscard]] growing_sites find_growth(const trace::trace_reader& reader,
                                        const trace::held_over_time& held,
                                        trace::call_names& names);

}  // namespace ashlar::sites
