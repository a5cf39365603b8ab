// tools/cli/memory_report.cpp. Layer: cli.
#include "tools/cli/memory_report.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/text.hpp"
#include "tools/measure/rounds.hpp"

namespace ashlar::cli {
namespace {

constexpr std::size_t parts_shown = 3;
constexpr const char* not_recorded =
    "resident memory was not recorded: the process made no call, the trace is older than that, or "
    "the system did not show it";

// ": libc.so.6 1.4 MiB, program 24.0 KiB and 3 more", of as many parts as there is room for.
std::string parts_of(const report::memory_row& row, std::size_t columns) {
  for (std::size_t shown = std::min(parts_shown, row.parts.size()); shown != 0; --shown) {
    std::string text;
    for (std::size_t i = 0; i < shown; ++i)
      text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", printable(row.parts[i].name),
                          format_bytes(row.parts[i].bytes));
    if (row.parts.size() > shown) text += fmt::format(" and {} more", row.parts.size() - shown);
    if (shown == 1 || display_width(text) <= columns) return text;
  }
  return {};
}

// Returns: the row, and the lines that map what it has where these do not fit behind it.
std::string render_row(const report::memory_row& row, std::uint64_t peak) {
  constexpr std::size_t columns_of_share = 21;
  const std::size_t columns = screen_columns - columns_of_share - row.name.size();
  const bool has_lines = !row.parts.empty() && row.parts.front().stack != 0 &&
                         is_notable(row.parts.front().bytes, peak);
  if (!has_lines || display_width(parts_of(row, screen_columns)) <= columns)
    return share_line(row.bytes, peak, row.name + parts_of(row, columns));
  std::string text = share_line(row.bytes, peak, row.name + ", mapped by");
  for (std::size_t i = 0; i < std::min(parts_shown, row.parts.size()); ++i)
    if (is_notable(row.parts[i].bytes, peak))
      text += share_line(row.parts[i].bytes, peak, "  " + printable(row.parts[i].name));
  return text;
}

std::string name_of_data(const trace::resident_part& of, trace::call_names& names) {
  const trace::static_variable found = names.largest_variable(of.name);
  if (found.bytes < of.bytes / 8) return of.name;
  const std::string source = found.place.file.substr(found.place.file.rfind('/') + 1);
  const std::string at = source.empty() ? "" : fmt::format(" at {}:{}", source, found.place.line);
  return fmt::format("{}{} ({}) in {}", found.name, at, format_bytes(found.bytes), of.name);
}

// The line that started most threads: for each, the C library allocates a block for its variables.
std::string starter_of_threads(const trace::trace_summary& of, const trace::trace_reader& from,
                               trace::call_names& names) {
  std::map<std::string, std::uint64_t> threads;  // by line
  for (const trace::stack_definition& stack : from.stacks()) {
    const auto figures = of.stacks.find(stack.number);
    if (figures == of.stacks.end()) continue;
    const std::vector<trace::named_call> calls = names.of(stack);
    const auto start = std::ranges::find_if(calls, [](const trace::named_call& call) {
      return call.function == "pthread_create" || call.function.starts_with("__pthread_create");
    });
    if (start != calls.end() && start + 1 != calls.end())
      threads[place_of(site_for({start + 1, calls.end()}))] += figures->second.births;
  }
  const auto most =
      std::ranges::max_element(threads, {}, [](const auto& each) { return each.second; });
  return most == threads.end() ? "" : "threads of " + most->first;
}

std::string peak_of(const report::memory_rows& all) {
  std::string text = fmt::format("peak RSS {}", format_bytes(all.peak));
  if (all.limit != 0)
    text += fmt::format(" of {} that the control group may have", format_bytes(all.limit));
  return text;
}

}  // namespace

bool is_notable(std::uint64_t bytes, std::uint64_t of) { return bytes != 0 && bytes >= of / 100; }

std::string share_line(std::uint64_t bytes, std::uint64_t of, std::string_view what) {
  const double share = measure::ratio_to(bytes, of);
  return shortened(fmt::format("  {:>9} {:5.1f} %  {}", format_bytes(bytes), 100 * share, what),
                   screen_columns) +
         "\n";
}

void name_mappings(trace::trace_summary& of, const trace::trace_reader& from,
                   trace::call_names& names) {
  report::name_parts(of.memory, from.stacks(), [&](const trace::stack_definition& stack) {
    return place_of(site_for(names.of(stack)));
  });
  constexpr std::uint64_t least = 1u << 20;
  for (trace::resident_part& part : of.memory.parts) {
    if (part.bytes < std::max(least, of.memory.peak / 10)) continue;
    if (part.kind == trace::memory_kind::data)
      part.name = name_of_data(part, names);
    else if (part.kind == trace::memory_kind::stack && part.name.empty())
      part.name = starter_of_threads(of, from, names);
  }
}

std::string render_memory(const trace::resident_memory& memory, const trace::trace_header& of,
                          double seconds, std::string_view interpreters_holder) {
  if (of.get(trace::header_name::pid).empty()) return {};  // firmware, or what another tool wrote
  const report::memory_rows all = report::memory_rows_of(memory, of, interpreters_holder);
  if (all.peak == 0) return fmt::format("  {}\n", not_recorded);
  if (all.rows.empty()) return fmt::format("  {}; what it is was not recorded\n", peak_of(all));
  std::string text =
      fmt::format("  {}; what it was, at {} s\n", peak_of(all), format_seconds(seconds));
  std::uint64_t rest = 0;
  for (const report::memory_row& row : all.rows) {
    if (is_notable(row.bytes, all.peak))
      text += render_row(row, all.peak);
    else
      rest += row.bytes;
  }
  if (rest != 0) text += share_line(rest, all.peak, "the rest, each part below 1 %");
  if (memory.not_in_memory() != 0)
    text += fmt::format("  of blocks of {} that lived then, {} were untouched so far, or in swap\n",
                        format_bytes(memory.live), format_bytes(memory.not_in_memory()));
  add_paragraph(text, all.remedy, 2);
  return text;
}

std::string memory_line(const trace::resident_memory& memory, const trace::trace_header& of) {
  if (of.get(trace::header_name::pid).empty()) return {};
  report::memory_rows all = report::memory_rows_of(memory, of);
  if (all.peak == 0) return fmt::format("{}\n", not_recorded);
  std::string text = peak_of(all);
  std::ranges::sort(all.rows, std::greater(), &report::memory_row::bytes);
  for (std::size_t i = 0; i < std::min(parts_shown, all.rows.size()); ++i)
    if (is_notable(all.rows[i].bytes, all.peak))
      text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", format_bytes(all.rows[i].bytes),
                          all.rows[i].name.substr(0, all.rows[i].name.find_first_of(":,")));
  text += '\n';
  add_paragraph(text, all.remedy, 0);
  return text;
}

}  // namespace ashlar::cli
