// tools/cli/comparison_chart.hpp: a comparison as a picture, and as a page. Layer: cli.
//
// A row for each allocator: a bar up to the median, a dot for each measured run, the median and its
// ratio to the first allocator's. The axes begin at 0. Dark and light follow the reader's settings.
#pragma once

#include <string>

#include "tools/measure/comparison.hpp"

namespace ashlar::cli {

// Returns: SVG with wall time above peak memory. It needs no other file.
std::string comparison_picture(const measure::comparison& compared);

// Returns: HTML with the two charts, all figures as a table, and the notes on failed runs. It needs no
// other file, and runs no script.
std::string comparison_page(const measure::comparison& compared);

}  // namespace ashlar::cli
