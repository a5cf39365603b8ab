// tools/cli/memory_report.cpp. Layer: cli.
#include "tools/cli/memory_report.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {
namespace {

constexpr std::size_t parts_shown = 3;
constexpr const char* not_recorded =
    "resident memory was not recorded: the process made no call, the trace is older than that, or "
    "the system did not show it";

// ": libc.so.6 1.4 MiB, program 24.0 KiB and 3 more"
std::string parts_of(const report::memory_row& row) {
  std::string text;
  for (std::size_t i = 0; i < std::min(parts_shown, row.parts.size()); ++i)
    text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", printable(row.parts[i].name),
                        format_bytes(row.parts[i].bytes));
  if (row.parts.size() > parts_shown)
    text += fmt::format(" and {} more", row.parts.size() - parts_shown);
  return text;
}

// Returns: the row, and the lines that map what it has where these do not fit behind it.
std::string render_row(const report::memory_row& row, std::uint64_t peak) {
  const std::string parts = parts_of(row);
  constexpr std::size_t columns_of_share = 21;
  if (row.parts.empty() || row.parts.front().stack == 0 || row.parts.front().bytes < peak / 100 ||
      columns_of_share + row.name.size() + parts.size() <= screen_columns)
    return share_line(row.bytes, peak, row.name + parts);
  std::string text = share_line(row.bytes, peak, row.name + ", mapped by");
  for (std::size_t i = 0; i < std::min(parts_shown, row.parts.size()); ++i)
    text += share_line(row.parts[i].bytes, peak, "  " + printable(row.parts[i].name));
  return text;
}

std::string peak_of(const report::memory_rows& all) {
  std::string text = fmt::format("peak RSS {}", format_bytes(all.peak));
  if (all.limit != 0)
    text += fmt::format(" of {} that the control group may have", format_bytes(all.limit));
  return text;
}

}  // namespace

std::string share_line(std::uint64_t bytes, std::uint64_t of, std::string_view what) {
  const double share = of == 0 ? 0 : 100 * static_cast<double>(bytes) / static_cast<double>(of);
  return shortened(fmt::format("  {:>9} {:5.1f} %  {}", format_bytes(bytes), share, what),
                   screen_columns) +
         "\n";
}

void name_mappings(trace::resident_memory& of, const trace::trace_reader& from,
                   trace::call_names& names) {
  report::name_parts(of, from.stacks(), [&](const trace::stack_definition& stack) {
    return place_of(site_for(names.of(stack)));
  });
}

std::string render_memory(const trace::resident_memory& memory, const trace::trace_header& of,
                          double seconds) {
  if (of.get(trace::header_name::pid).empty()) return {};  // firmware, or what another tool wrote
  const report::memory_rows all = report::memory_rows_of(memory, of);
  if (all.peak == 0) return fmt::format("  {}\n", not_recorded);
  if (all.rows.empty()) return fmt::format("  {}; what it is was not recorded\n", peak_of(all));
  std::string text =
      fmt::format("  {}; what it was, at {} s\n", peak_of(all), format_seconds(seconds));
  std::uint64_t rest = 0;
  for (const report::memory_row& row : all.rows) {
    if (row.bytes < all.peak / 100)
      rest += row.bytes;
    else
      text += render_row(row, all.peak);
  }
  if (rest != 0) text += share_line(rest, all.peak, "the rest, each part below 1 %");
  if (memory.not_in_memory() != 0)
    text +=
        fmt::format("  blocks of {} lived then: {} of them were never touched, or are in swap\n",
                    format_bytes(memory.live), format_bytes(memory.not_in_memory()));
  if (!all.remedy.empty()) text += fmt::format("  {}\n", all.remedy);
  return text;
}

std::string memory_line(const trace::resident_memory& memory, const trace::trace_header& of) {
  if (of.get(trace::header_name::pid).empty()) return {};
  const report::memory_rows all = report::memory_rows_of(memory, of);
  if (all.peak == 0) return fmt::format("{}\n", not_recorded);
  std::string text = peak_of(all);
  for (std::size_t i = 0; i < all.rows.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", format_bytes(all.rows[i].bytes),
                        all.rows[i].name.substr(0, all.rows[i].name.find_first_of(":,")));
  text += '\n';
  if (!all.remedy.empty()) text += fmt::format("{}\n", all.remedy);
  return text;
}

}  // namespace ashlar::cli
