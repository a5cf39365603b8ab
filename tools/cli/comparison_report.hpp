// tools/cli/comparison_report.hpp: a comparison as tables. Layer: cli.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/text.hpp"
#include "tools/measure/comparison.hpp"

namespace ashlar::cli {

// The table, with notes on failed runs and on an early end.
std::string render_comparison(const measure::comparison& compared, glyphs set);

// One table over several programs. A program's baseline is its first allocator.
std::string render_summary(const std::vector<measure::stored_comparison>& programs, glyphs set);

}  // namespace ashlar::cli
