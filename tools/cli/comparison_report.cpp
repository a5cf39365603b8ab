// tools/cli/comparison_report.cpp. Layer: cli.
#include "tools/cli/comparison_report.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/table.hpp"
#include "tools/files/text.hpp"
#include "tools/report/html_page.hpp"

namespace ashlar::cli {

namespace {

std::string range(std::string low, std::string high, glyphs set) {
  return fmt::format("{}{}{}", std::move(low), dash(set), std::move(high));
}

std::string ratio_cell(double value, double base) {
  return base > 0 ? fmt::format("{:.2f}", value / base) : std::string{};
}

void append_cells(std::vector<std::string>& cells, const measure::spread& values, double base,
                  glyphs set, std::string (*format)(double)) {
  cells.push_back(format(values.median));
  cells.push_back(range(format(values.min), format(values.max), set));
  cells.push_back(ratio_cell(values.median, base));
}

std::string indented(std::string_view text, std::string_view before) {
  std::string lines;
  for (const std::string_view line : files::parts_of(text, '\n'))
    lines += fmt::format("{}{}\n", before, line);
  return lines;
}

void append_figures(std::vector<std::string>& cells, const measure::allocator_summary& summary,
                    const measure::base_figures& base, glyphs set) {
  if (summary.failed_runs > 0) {
    cells.emplace_back("failed");
  } else if (summary.runs == 0) {
    cells.emplace_back("not run");
  } else {
    append_cells(cells, summary.wall_seconds, base.wall, set, format_seconds);
    append_cells(cells, summary.cpu_seconds, base.cpu, set, format_seconds);
    append_cells(cells, summary.peak_rss_bytes, base.rss, set, format_mebibytes);
  }
}

std::vector<column> figure_columns(std::vector<column> columns) {
  for (const char* group : {"wall, s", "user + system, s", "peak RSS, MiB"}) {
    columns.push_back({"median", align::right, group});
    columns.push_back({"range", align::right, group});
    columns.push_back({"ratio", align::right, group});
  }
  return columns;
}

// Returns: what is to be read beside the table, as lines: what a ratio relates to, runs that failed, an
// early end.
std::string comparison_notes(const measure::comparison& compared) {
  const std::vector<measure::allocator_summary> summaries = measure::summaries_of(compared);
  std::string text =
      fmt::format("ratio: median to the median of {}; below 1 is better; seed {}\n",
                  summaries.empty() ? std::string("none") : summaries.front().name, compared.seed);
  if (!measure::exited_with(compared.expected_status, 0)) {
    text += fmt::format(
        "note: the program's first run on {} ended with {}; the others were held to that\n",
        summaries.front().name, measure::describe_wait_status(compared.expected_status));
  }
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const measure::allocator_summary& summary = summaries[i];
    if (summary.failed_runs == 0) continue;
    text += fmt::format("failed: {}: {} of {} runs ({} expected; first failure: {})\n",
                        summary.name, summary.failed_runs, compared.allocators[i].samples.size(),
                        measure::describe_wait_status(compared.expected_status), summary.failure);
    text += indented(compared.allocators[i].error_output, "    ");
  }
  if (compared.interrupted_by != 0) {
    text += fmt::format("note: ended early by {}: this is what had been measured by then\n",
                        measure::signal_name(compared.interrupted_by));
  }
  return text;
}

}  // namespace

std::string render_comparison(const measure::comparison& compared, glyphs set) {
  const std::vector<measure::allocator_summary> summaries = measure::summaries_of(compared);
  const measure::base_figures base = measure::base_of(summaries);
  table figures(figure_columns({{"allocator", align::left}, {"runs"}}));
  for (const measure::allocator_summary& summary : summaries) {
    std::vector<std::string> cells{summary.name, fmt::format("{}", summary.runs)};
    append_figures(cells, summary, base, set);
    figures.add_row(std::move(cells));
  }
  return fmt::format("{}\n\n{}\n{}", shell_quoted(compared.command), figures.render(),
                     comparison_notes(compared));
}

std::string render_summary(const std::vector<measure::stored_comparison>& programs, glyphs set) {
  table figures(figure_columns({{"program", align::left}, {"allocator", align::left}, {"runs"}}));
  std::string notes;
  for (const measure::stored_comparison& program : programs) {
    const measure::base_figures base = measure::base_of(program.allocators);
    for (const measure::allocator_summary& summary : program.allocators) {
      std::vector<std::string> cells{&summary == &program.allocators.front() ? program.label : "",
                                     summary.name, fmt::format("{}", summary.runs)};
      append_figures(cells, summary, base, set);
      figures.add_row(std::move(cells));
      if (summary.failed_runs > 0) {
        notes +=
            fmt::format("failed: {} on {}: {}\n", program.label, summary.name, summary.failure);
      }
    }
  }
  return figures.render() + notes;
}

std::string comparison_page(const measure::comparison& compared) {
  nlohmann::json data = measure::comparison_json(compared);
  data["notes"] = comparison_notes(compared);
  return report::html_page(data);
}

}  // namespace ashlar::cli
