// tools/findings/rules.hpp: when the history of a call site is a finding. Layer: findings.
// docs/findings.md has the same rules and thresholds in words.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/findings/finding.hpp"
#include "tools/findings/site_history.hpp"
#include "tools/findings/site_table.hpp"

namespace ashlar::findings {

/// What is worth a reader's time, and how nearly all of a site's blocks have to fit. All shares are
/// in percent.
namespace thresholds {
inline constexpr std::uint64_t percent_of_run =
    1;  ///< of all allocations, or of the bytes at the peak
inline constexpr std::uint64_t least_allocations = 1000;
inline constexpr std::uint64_t least_bytes = 64 * 1024;
inline constexpr std::uint64_t fitting = 95;         ///< of a site's allocations
inline constexpr std::uint64_t growth_fitting = 50;  ///< the first block of each chain is no growth
inline constexpr std::uint64_t steps_a_chain = 2;
inline constexpr std::uint64_t bursts = 2;  ///< one alone may be how the program ends
inline constexpr std::uint64_t hot_allocations = 10'000;
inline constexpr std::uint64_t hot_turnover = 1250;  ///< allocations a block of the most that lived
inline constexpr std::uint64_t pool_live = 64;
inline constexpr std::uint64_t pool_turnover = 2;  ///< allocations a block of the most that lived
inline constexpr std::uint64_t small_block =
    4096;  ///< a pool or an arena gains little for larger ones
inline constexpr std::uint64_t slack_least_size = 256;
inline constexpr std::uint64_t untouched_share = 50;           ///< of the bytes that were looked at
inline constexpr std::uint64_t least_untouched = 1024 * 1024;  ///< at the peak
inline constexpr std::uint64_t slack_excess =
    32;  ///< at most a 32nd of the size is above the class
}  // namespace thresholds

/// Sites, and what their blocks did.
struct judged_sites {
  const std::vector<site>& sites;
  const std::vector<site_history>& histories;
};

/// Effects: the best first: leaks, rising lines, pins, the others; of each by the bytes that a change
/// saves, then by allocations, then by address space.
void rank(std::vector<finding>& findings);

/// Returns: the findings, the best first: by the bytes at the peak that a change saves, then by the
/// allocations that it saves, then by address space. Bytes below 64 KiB, or below a hundredth of the peak, count as none.
/// Findings of one kind with one owner are one. A site has one finding, and slack and untouched
/// beside it. A site
/// that has none is judged by its callers. Requires: `own` and `callers` are of one trace, owned by
/// the first own call and by its caller; inner[i] is the index in `own` of the site that
/// callers.sites[i] calls.
[[nodiscard]] std::vector<finding> judged(const judged_sites& own, const judged_sites& callers,
                                          const std::vector<std::uint32_t>& inner,
                                          const run_totals& run);

}  // namespace ashlar::findings
