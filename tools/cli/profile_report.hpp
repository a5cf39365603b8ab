// tools/cli/profile_report.hpp: the figures of a profile, as a table and as JSON. Layer: cli.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/cli/text.hpp"
#include "tools/profile/profile.hpp"

namespace ashlar::cli {

// `rows`: how many sizes are listed.
std::string render_profile_report(const profiling::profile& runs, const std::string& path,
                                  std::size_t rows, glyphs set);
// The peaks are those of each size and of all; those of intervals stay in the file.
nlohmann::json profile_report_json(const profiling::profile& runs, const std::string& path);

}  // namespace ashlar::cli
