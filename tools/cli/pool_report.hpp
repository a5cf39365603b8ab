// tools/cli/pool_report.hpp: a program's pools as a table. Layer: cli.
#pragma once

#include <cstddef>
#include <string>

#include "tools/cli/pool_statistics.hpp"
#include "tools/cli/text.hpp"
#include "tools/measure/child_process.hpp"

namespace ashlar::cli {

enum class report_detail {
  summary,  // the classes that matter most and the totals that people ask for
  full,     // every class that was used, every field
};

// What the figures are of.
enum class report_moment { at_exit, now };

// How many classes a summary lists.
inline constexpr std::size_t summary_classes = 16;

// Returns: the table of classes and the totals, lines ended.
std::string render_pool_report(const pool_statistics& statistics, report_detail detail, glyphs set,
                               report_moment moment = report_moment::at_exit);

// "wall 1.234 s, user 1.100 s, system 0.050 s, peak RSS 189.3 MiB"
std::string render_process_figures(const measure::child_outcome& outcome);

}  // namespace ashlar::cli
