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
#include "tools/trace/held_over_time.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::sites {

/// How something rises over n stretches of a run.
struct growth {
  double bytes_per_stretch = 0;  ///< Sen's slope (trend.hpp)
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
  std::uint64_t bytes_allocated = 0;
  std::uint64_t bytes_at_end = 0;
  std::uint64_t bytes_lost = 0;  ///< of these: no pointer led to them; all, where nobody looked
  double bytes = 0;              ///< by which it rose over `seconds`, at that slope
  std::uint32_t stack = 0;       ///< the number of one of its stacks
  std::vector<trace::named_call> calls;  ///< from the inside out
};
struct growing_sites {
  double seconds = 0;               ///< of the run, without the stretches that are left out
  std::vector<growing_site> sites;  ///< the steepest first
};

/// Returns: the call sites that rise all the way; none of a run of less than a second, in which every
/// program builds up what it works on. Stacks whose calls have the same names and lines are one call
/// site. Requires: `held` is of this reader.
[[nodiscard]] growing_sites find_growth(const trace::trace_reader& reader,
                                        const trace::held_over_time& held,
                                        trace::call_names& names);

}  // namespace ashlar::sites
