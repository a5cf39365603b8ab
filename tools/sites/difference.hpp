// tools/sites/difference.hpp: two recordings beside each other. Layer: sites.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/summary.hpp"

namespace ashlar::sites {

/// Bytes or blocks of one figure.
using measure = std::uint64_t trace::stack_figures::*;

/// The same figures in both recordings.
struct compared_figures {
  trace::stack_figures before;
  trace::stack_figures after;

  [[nodiscard]] bool is_new() const { return before.births == 0; }
  [[nodiscard]] bool is_gone() const { return after.births == 0; }
  [[nodiscard]] bool grew(measure by) const { return after.*by > before.*by; }
  /// Returns: by how much it grew or shrank.
  [[nodiscard]] std::uint64_t change(measure by) const {
    return grew(by) ? after.*by - before.*by : before.*by - after.*by;
  }
  [[nodiscard]] bool is_equal() const;
  compared_figures& operator+=(const compared_figures& more);
};

struct compared_site : compared_figures {
  /// From the inside out, as the recording after has them, or else the one before; a function is
  /// there once. Empty: the calls were not recorded.
  std::vector<trace::named_call> calls;
};

/// Requests of `least` to `most` bytes.
struct compared_size : compared_figures {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// What differs in any figure, the largest change first; of the doublings there is each.
struct difference {
  compared_figures all;              ///< of the whole runs
  std::vector<compared_site> sites;  ///< the last one has no calls where some were not recorded
  std::vector<compared_size> sizes;  ///< one by one up to 1 KiB; above, each range is a doubling
  std::vector<compared_size> doublings;  ///< all sizes, each range a doubling; the smallest first
  std::size_t equal_sites = 0;           ///< that do not differ
};

/// What is compared. Requires: the summary is of this reader.
struct recording {
  const trace::trace_reader& reader;
  const trace::trace_summary& summary;
  trace::call_names& names;
};

/// Returns: how they differ, sorted by the change in `by`. Stacks are one call site where their
/// functions and files are the same (comparable_names.hpp). Of a function that occurs several times
/// in a stack only the innermost call counts, so the depth of a recursion does not matter. `depth`:
/// only so many of the innermost functions count, and their calls are shown.
[[nodiscard]] difference differ(const recording& before, const recording& after, measure by,
                                std::size_t depth);

}  // namespace ashlar::sites
