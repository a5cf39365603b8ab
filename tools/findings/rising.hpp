// tools/findings/rising.hpp: the findings about call sites that hold more and more. Layer: findings.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/findings/finding.hpp"
#include "tools/findings/site_history.hpp"
#include "tools/sites/growth.hpp"

namespace ashlar::findings {

namespace thresholds {
/// Of the peak, in percent: a program that works on a large thing builds some part of it to its end.
inline constexpr std::uint64_t rising_percent = 10;
}  // namespace thresholds

/// Returns: a finding for each line that rose by 64 KiB at least. Call sites that differ in who calls
/// their line are one. A line is a leak if nearly nothing that it allocated was freed, no pointer leads
/// to most of it, where somebody looked, and it rose by a hundredth of the peak; else it is rising, by
/// a tenth.
[[nodiscard]] std::vector<finding> rising_findings(const ashlar::sites::growing_sites& growing,
                                                   const run_totals& run);

}  // namespace ashlar::findings
