// tools/cli/comparison_report.hpp: a comparison as tables. Layer: cli.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/text.hpp"
#include "tools/measure/comparison.hpp"

namespace ashlar::cli {

// Returns: a row of the table: the allocator, its runs, then median, range and ratio of each figure; or
// "failed" or "not run" in their place.
std::vector<std::string> comparison_cells(const measure::allocator_summary& summary,
                                          const measure::base_figures& base, glyphs set);

// Returns: what is to be read beside the table, as lines: what a ratio relates to, runs that failed, an
// early end.
std::string comparison_notes(const measure::comparison& compared);

// The command line, the table and the notes.
std::string render_comparison(const measure::comparison& compared, glyphs set);

// One table over several programs. A program's baseline is its first allocator.
std::string render_summary(const std::vector<measure::stored_comparison>& programs, glyphs set);

// A comparison as a picture, and as a page.
// A row for each allocator: a bar up to the median, a dot for each measured run, the median and its
// ratio to the first allocator's. The axes begin at 0. Dark and light follow the reader's settings.

// Returns: SVG with wall time above peak memory. It needs no other file.
std::string comparison_picture(const measure::comparison& compared);

// Returns: HTML with the two charts, all figures as a table, and the notes on failed runs. It needs no
// other file, and runs no script.
std::string comparison_page(const measure::comparison& compared);

}  // namespace ashlar::cli
