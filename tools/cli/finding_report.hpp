// tools/cli/finding_report.hpp: findings as text and as JSON. Layer: cli.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tools/cli/call_times.hpp"
#include "tools/findings/finder.hpp"

namespace ashlar::cli {

// Of the first screen: how many there are, and the first three in two lines each.
std::string render_first_findings(const findings::findings_of_run& found,
                                  const std::optional<call_times>& times, std::size_t rows);
// All that is known of each. `rows`: so many at most; the others are counted.
std::string render_findings(const findings::findings_of_run& found,
                            const std::optional<call_times>& times, std::size_t rows);

// Of each finding its kind, site, figures, and the words and code that the text has.
nlohmann::json findings_json(const findings::findings_of_run& found,
                             const std::optional<call_times>& times);

// Name, function and source of a call.
nlohmann::json place_json(const trace::named_call& call);

// Returns: whether a finding saves allocations, so that it takes time.
bool take_time(const findings::findings_of_run& found);

}  // namespace ashlar::cli
