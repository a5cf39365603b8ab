// tools/cli/process_table.cpp. Layer: cli.
#include "tools/cli/process_table.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include <fmt/format.h>

#include "tools/cli/table.hpp"

namespace ashlar::cli {
namespace {

// Bytes of all blocks that have left the heap for a cache or a caller. Large ones have no common
// size.
double allocated_bytes(const pool_statistics& s) {
  double bytes = 0;
  for (const class_figures& c : s.classes)
    bytes += static_cast<double>(c.allocations) * static_cast<double>(c.block_size);
  return bytes;
}

double figure(std::uint64_t value) {
  return static_cast<double>(value);
}

std::string signed_bytes(double bytes) {
  const auto size = static_cast<std::uint64_t>(std::llround(std::fabs(bytes)));
  return size == 0 ? "0" : fmt::format("{}{}", bytes < 0 ? "-" : "+", format_bytes(size));
}

std::string at_least(const process_row& row, const std::string& figure_text, glyphs set) {
  if (row.exact || figure_text.starts_with("0")) return figure_text;
  return (set == glyphs::utf8 ? "≥" : ">") + figure_text;
}

}  // namespace

process_row row_between(const pool_statistics& before, const pool_statistics& now, double seconds) {
  process_row row;
  row.pid = now.pid;
  row.program = now.command;
  row.exact = now.exact;
  row.live_bytes = now.total.bytes_in_use;
  row.resident_bytes = now.total.resident_bytes;
  row.peak_bytes = now.total.peak_bytes_in_use;
  // Another program may have taken the process's place meanwhile: then nothing is known of before.
  if (seconds <= 0 || now.total.allocations < before.total.allocations) return row;
  row.growth_per_minute =
      (figure(now.total.bytes_in_use) - figure(before.total.bytes_in_use)) * 60 / seconds;
  row.allocated_per_second =
      std::max(0.0, allocated_bytes(now) - allocated_bytes(before)) / seconds;
  row.calls_per_second = figure(now.total.allocations - before.total.allocations) / seconds;
  return row;
}

void sort_rows(std::vector<process_row>& rows, std::string_view column) {
  using key = double (*)(const process_row&);
  static constexpr std::pair<std::string_view, key> keys[]{
      {"live", [](const process_row& row) { return figure(row.live_bytes); }},
      {"resident", [](const process_row& row) { return figure(row.resident_bytes); }},
      {"growth", [](const process_row& row) { return row.growth_per_minute; }},
      {"rate", [](const process_row& row) { return row.allocated_per_second; }},
      {"peak", [](const process_row& row) { return figure(row.peak_bytes); }}};
  const key of = std::ranges::find(keys, column, &std::pair<std::string_view, key>::first)->second;
  std::ranges::sort(rows, [of](const process_row& a, const process_row& b) {
    return std::pair(-of(a), a.pid) < std::pair(-of(b), b.pid);
  });
}

std::string render_rows(const std::vector<process_row>& rows, std::size_t silent,
                        std::size_t columns, std::size_t lines, glyphs set) {
  constexpr std::size_t program_columns = 12;
  table all({{"pid"},
             {"program", align::left},
             {"live"},
             {"resident"},
             {"peak"},
             {"growth/min"},
             {"alloc/s"},
             {"calls/s"}});
  for (const process_row& row : rows) {
    const auto rate = static_cast<std::uint64_t>(std::llround(row.allocated_per_second));
    const auto calls = static_cast<std::uint64_t>(std::llround(row.calls_per_second));
    all.add_row({fmt::format("{}", row.pid), printable(row.program).substr(0, program_columns),
                 format_bytes(row.live_bytes), format_bytes(row.resident_bytes),
                 format_bytes(row.peak_bytes), signed_bytes(row.growth_per_minute),
                 at_least(row, format_bytes(rate), set), at_least(row, format_count(calls), set)});
  }
  std::string text = all.render();
  if (rows.empty())
    text = "no process of yours has a control socket: start one with ASHLAR_CONTROL=1\n";
  if (silent != 0)
    text += fmt::format("{} process{} gave no answer\n", silent, silent == 1 ? "" : "es");
  std::istringstream all_lines(text);
  std::string shown;
  std::size_t count = 0;
  for (std::string line; count < lines && std::getline(all_lines, line); ++count) {
    // A line is cut at a whole character.
    while (display_width(line) > columns) {
      line.pop_back();
      while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80 &&
             display_width(line) > columns)
        line.pop_back();
    }
    shown += line + "\n";
  }
  return shown;
}

nlohmann::json rows_json(const std::vector<process_row>& rows, std::size_t silent) {
  nlohmann::json processes = nlohmann::json::array();
  for (const process_row& row : rows)
    processes.push_back({{"pid", row.pid},
                         {"program", row.program},
                         {"accuracy", row.exact ? "exact" : "batch"},
                         {"live_bytes", row.live_bytes},
                         {"resident_bytes", row.resident_bytes},
                         {"peak_bytes", row.peak_bytes},
                         {"growth_bytes_per_minute", std::llround(row.growth_per_minute)},
                         {"allocated_bytes_per_second", std::llround(row.allocated_per_second)},
                         {"allocations_per_second", std::llround(row.calls_per_second)}});
  return {{"ashlar", ASHLAR_CLI_VERSION},
          {"schema", 1},
          {"report", "top"},
          {"processes", processes},
          {"without_answer", silent}};
}

}  // namespace ashlar::cli
