// tools/cli/comparison_report.cpp. Layer: cli.
#include "tools/cli/comparison_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/table.hpp"
#include "tools/files/text.hpp"

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

}  // namespace

std::vector<std::string> comparison_cells(const measure::allocator_summary& summary,
                                          const measure::base_figures& base, glyphs set) {
  std::vector<std::string> cells{summary.name, fmt::format("{}", summary.runs)};
  append_figures(cells, summary, base, set);
  return cells;
}

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

std::string render_comparison(const measure::comparison& compared, glyphs set) {
  const std::vector<measure::allocator_summary> summaries = measure::summaries_of(compared);
  const measure::base_figures base = measure::base_of(summaries);
  table figures(figure_columns({{"allocator", align::left}, {"runs"}}));
  for (const measure::allocator_summary& summary : summaries)
    figures.add_row(comparison_cells(summary, base, set));
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

namespace chart {
namespace {

// Units of the picture: a panel is 440 wide, and a page on a phone shows it a bit smaller.
constexpr double width = 440, left = 104, right = 136, head = 34, row = 34, foot = 34;
constexpr double plot = width - left - right;
constexpr std::size_t longest_name = 13;  // characters in front of the bars

// A figure of each run, and how it is written.
struct measure_of_runs {
  const char* title;
  double (*of)(const measure::child_outcome&);
  measure::spread measure::allocator_summary::* summary;
  double measure::base_figures::* base;
  std::string (*text)(double);  // without its unit
  double unit;                  // of the axis
};

constexpr std::array<measure_of_runs, 2> panels{{
    {"wall time, s", [](const measure::child_outcome& o) { return o.wall_seconds; },
     &measure::allocator_summary::wall_seconds, &measure::base_figures::wall, format_seconds, 1},
    {"peak memory, MiB",
     [](const measure::child_outcome& o) { return static_cast<double>(o.peak_rss_bytes); },
     &measure::allocator_summary::peak_rss_bytes, &measure::base_figures::rss, format_mebibytes,
     1024 * 1024},
}};

// Text for XML and HTML. Control characters, which XML cannot have, stand as "\x1b".
std::string escaped(std::string_view text) { return files::escaped_for_xml(printable(text)); }

std::string escaped_lines(std::string_view text) {
  std::string out;
  for (const std::string_view line : files::parts_of(text, '\n')) out += escaped(line) + "\n";
  return out;
}

// Returns: the step of an axis up to `most`: 1, 2 or 5 times a power of ten, so that it has 2 to 5 steps.
double axis_step(double most) {
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {power / 5, power / 2, power})
    if (most / step <= 5) return step;
  return 2 * power;
}

std::string shortened(std::string_view name) {
  return name.size() <= longest_name ? std::string(name)
                                     : std::string(name.substr(0, longest_name - 2)) + "..";
}

std::vector<double> measured(const measure::allocator_samples& samples, const measure_of_runs& by) {
  std::vector<double> values;
  for (const measure::run_sample& each : samples.samples)
    if (!each.warmup) values.push_back(by.of(each.outcome));
  return values;
}

double panel_height(const measure::comparison& compared) {
  return head + row * static_cast<double>(compared.allocators.size()) + foot;
}

std::string axis(double most, double bottom, const measure_of_runs& by) {
  std::string text;
  const double step = axis_step(most / by.unit);
  for (double at = 0; at <= most / by.unit * 1.0001; at += step) {
    const double x = left + plot * at * by.unit / most;
    text += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n"
        "<text class=\"quiet\" x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4:g}</text>\n",
        x, head - 4, bottom, bottom + 18, at);
  }
  return text;
}

// One row: the name, the bar up to the median, a dot for each run, the median and its ratio.
std::string row_of(const measure::comparison& compared, std::size_t index,
                   const measure::allocator_summary& summary, const measure_of_runs& by,
                   double base, double most, bool is_best) {
  const double top = head + row * static_cast<double>(index), middle = top + row / 2;
  std::string text = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                                 left - 8, middle + 5, escaped(shortened(summary.name)));
  if (!summary.quotable()) {
    return text + fmt::format("<text class=\"quiet\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                              left + 6, middle + 5, summary.failed_runs > 0 ? "failed" : "not run");
  }
  const double median = (summary.*by.summary).median;
  text += fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      is_best ? "bar best" : "bar", left, top + 6, plot * median / most, row - 12);
  for (const double value : measured(compared.allocators[index], by))
    text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n",
                        left + plot * value / most, middle);
  text += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\">{}{}</text>\n",
                      is_best ? " class=\"least\"" : "", width - right + 12, middle + 5,
                      by.text(median), base > 0 ? fmt::format("  ({:.2f})", median / base) : "");
  return text;
}

// One chart, whose upper left corner is at (0, `top`).
std::string panel(const measure::comparison& compared, const measure_of_runs& by, double top) {
  const std::vector<measure::allocator_summary> summaries = measure::summaries_of(compared);
  const double base = measure::base_of(summaries).*by.base;
  double most = 0, least = HUGE_VAL;
  for (const measure::allocator_summary& each : summaries) {
    if (!each.quotable()) continue;
    most = std::max(most, (each.*by.summary).max);
    least = std::min(least, (each.*by.summary).median);
  }
  std::string text = fmt::format(
      "<g transform=\"translate(0 {:.1f})\">\n<text class=\"title\" "
      "x=\"{:.1f}\" y=\"18\">{}</text>\n",
      top, left, by.title);
  if (most > 0) text += axis(most, panel_height(compared) - foot, by);
  for (std::size_t i = 0; i < summaries.size(); ++i)
    text +=
        row_of(compared, i, summaries[i], by, base, most,
               most > 0 && summaries[i].quotable() && (summaries[i].*by.summary).median <= least);
  return text + "</g>\n";
}

// What the picture shows, for readers who do not see it.
std::string described(const measure::comparison& compared, const measure_of_runs& by) {
  std::string text = fmt::format("{}, median of the runs:", by.title);
  for (const measure::allocator_summary& each : measure::summaries_of(compared))
    text += fmt::format(" {} {};", each.name,
                        each.quotable() ? by.text((each.*by.summary).median) : "failed");
  text.back() = '.';
  return escaped(text);
}

constexpr std::string_view colours =
    R"(svg { --text: #1a1e24; --quiet: #535c69; --grid: #d4d8de; --bar: #bcd0e8; --best: #7c9fcb; --dot: #0b62c4; --page: #ffffff; }
@media (prefers-color-scheme: dark) {
  svg { --text: #e7eaee; --quiet: #a5afbc; --grid: #3a414b; --bar: #2f4766; --best: #4f7cae; --dot: #a9d0ff; --page: #14171b; }
}
svg text { font: 15px system-ui, sans-serif; fill: var(--text); white-space: pre; font-variant-numeric: tabular-nums; }
svg .title, svg .least { font-weight: 600; }
svg .quiet { fill: var(--quiet); font-size: 13px; }
svg .grid { stroke: var(--grid); }
svg .bar { fill: var(--bar); }
svg .best { fill: var(--best); }
svg circle { fill: var(--dot); fill-opacity: 0.75; }
svg .page { fill: var(--page); }
)";

constexpr std::string_view page_style =
    R"(:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 1120px; padding: 16px; font: 16px/1.5 system-ui, sans-serif; color: light-dark(#1a1e24, #e7eaee); background: light-dark(#ffffff, #14171b); }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
.charts { display: flex; flex-wrap: wrap; gap: 16px; }
.charts svg { flex: 1 1 340px; max-width: 560px; min-width: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid light-dark(#d4d8de, #3a414b); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
pre, code { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.quiet { color: light-dark(#535c69, #a5afbc); }
)";

std::string page_table(const measure::comparison& compared) {
  const std::vector<measure::allocator_summary> summaries = measure::summaries_of(compared);
  const measure::base_figures base = measure::base_of(summaries);
  std::string text = "<table>\n<tr><th>allocator</th><th>runs</th>";
  for (const char* const group : {"wall, s", "user + system, s", "peak RSS, MiB"})
    text += fmt::format("<th>{}</th><th>range</th><th>ratio</th>", group);
  text += "</tr>\n";
  for (const measure::allocator_summary& each : summaries) {
    text += "<tr>";
    for (const std::string& cell : comparison_cells(each, base, glyphs::utf8))
      text += fmt::format("<td>{}</td>", escaped(cell));
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace
}  // namespace chart

std::string comparison_picture(const measure::comparison& compared) {
  const double height = chart::panel_height(compared);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>{2}: allocators compared</title>\n<desc>{3} "
      "{4}</desc>\n"
      "<style>\n{5}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
      chart::width, 2 * height, chart::escaped(compared.label),
      chart::described(compared, chart::panels[0]), chart::described(compared, chart::panels[1]),
      chart::colours);
  for (std::size_t i = 0; i < chart::panels.size(); ++i)
    text += chart::panel(compared, chart::panels[i], height * static_cast<double>(i));
  return text + "</svg>\n";
}

std::string comparison_page(const measure::comparison& compared) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}: allocators compared</title>\n<style>\n{1}{2}</style>\n</head>\n<body>\n"
      "<h1>{0}</h1>\n<p class=\"quiet\"><code>{3}</code></p>\n<div class=\"charts\">\n",
      chart::escaped(compared.label), chart::page_style, chart::colours,
      chart::escaped(shell_quoted(compared.command)));
  for (const chart::measure_of_runs& each : chart::panels)
    text +=
        fmt::format("<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
                    chart::width, chart::panel_height(compared), chart::described(compared, each),
                    chart::panel(compared, each, 0));
  text +=
      "</div>\n<p>A bar ends at the median, and a dot is a run. Less is better. In brackets: the "
      "ratio to the first allocator.</p>\n<div class=\"wide\">\n";
  text += chart::page_table(compared);
  text += fmt::format("</div>\n<pre>{}</pre>\n<p class=\"quiet\">ashlar {}</p>\n</body>\n</html>\n",
                      chart::escaped_lines(comparison_notes(compared)),
                      chart::escaped(compared.ashlar_version));
  return text;
}

}  // namespace ashlar::cli
