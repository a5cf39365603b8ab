// tools/cli/comparison_report.hpp: a comparison as tables, and as a page. Layer: cli.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/text.hpp"
#include "tools/measure/comparison.hpp"

namespace ashlar::cli {

// The command line, the table and the notes.
std::string render_comparison(const measure::comparison& compared, glyphs set);

// One table over several programs. A program's baseline is its first allocator.
std::string render_summary(const std::vector<measure::stored_comparison>& programs, glyphs set);

// Returns: HTML with charts, all figures as a table, and the notes on failed runs. It needs no other
// file.
std::string comparison_page(const measure::comparison& compared);

}  // namespace ashlar::cli
