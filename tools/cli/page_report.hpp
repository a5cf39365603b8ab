// tools/cli/page_report.hpp: the pages of ashlar's heaps by what keeps them, as text and as JSON.
// Layer: cli.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/cli/image_report.hpp"

namespace ashlar::cli {

// `rows`: how many block sizes it tells of at most; the others are added up.
std::string render_pages(const image_report& report, std::size_t rows);
// "by_size" and "pages".
nlohmann::json pages_json(const image_report& report);

}  // namespace ashlar::cli
