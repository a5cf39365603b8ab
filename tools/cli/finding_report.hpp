// tools/cli/finding_report.hpp: findings as text and as JSON. Layer: cli.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/findings/finder.hpp"

namespace ashlar::cli {

// `rows`: how many findings are listed at most; the others are counted.
std::string render_findings(const std::string& path, const findings::findings_of_run& found,
                            std::size_t rows);

// Of each finding its kind, site, figures, and the words and code that the text has.
nlohmann::json findings_json(const findings::findings_of_run& found);

}  // namespace ashlar::cli
