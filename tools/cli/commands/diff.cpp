// tools/cli/commands/diff.cpp: `ashlar diff`: two recordings beside each other. Layer: cli.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/difference_report.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/results.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/report/html_page.hpp"

namespace ashlar::cli {
namespace {

// Of each run the page shows what lived over time in at most so many stretches.
constexpr std::size_t most_stretches = 512;
constexpr int most_depth = std::numeric_limits<int>::max();

struct diff_options {
  std::string before, after;
  std::string by = "peak";
  std::string output;  // the page; empty: none
  std::string json_path;
  std::string format;  // instead of our own JSON; empty: none
  std::uint64_t rows = 10;
  std::uint32_t depth = most_depth;
  bool full = false;  // with all calls
  std::optional<std::uint64_t> fail_above;
};

constexpr const char* diff_footer =
    R"(Call sites are the same where their functions and files are the same, in any build and on any line.
The programs that ran have to be where they were, or their names in the traces: build each version
in a folder of its own, or record with --symbols.

Examples:
  ashlar record -o before.atrace -- ./old/server --once
  ashlar record -o after.atrace -- ./new/server --once
  ashlar diff before.atrace after.atrace
  ashlar diff -o diff.html before.atrace after.atrace
  ashlar diff --fail-above 1MiB --json=diff.json before.atrace after.atrace
  ashlar diff --by allocations --fail-above 1000 before.atrace after.atrace
  ashlar diff --fail-above 1MiB --for github before.atrace after.atrace
  ashlar diff --depth 1 before.atrace after.atrace     by the function that allocates

Exit status: 0; 1 where the program's figure grew by more than --fail-above; 2 for what is no trace.)";

// A recording that was read to its end.
struct read_trace {
  std::unique_ptr<trace::trace_reader> reader;
  trace::trace_summary summary;
  trace::call_names names;

  // Throws: trace_error.
  explicit read_trace(const std::string& path)
      : reader(open_trace(path)),
        summary(trace::summarise(*reader, most_stretches)),
        names(*reader) {
    if (summary.lost != 0)
      fmt::print(stderr, "ashlar: warning: {}: {} events were lost, so its figures are too low\n",
                 path, format_count(summary.lost));
    if (summary.stacks.empty())
      fmt::print(stderr, "ashlar: {} has no calls: record it without --no-stacks\n", path);
  }
  [[nodiscard]] sites::recording recording() { return {*reader, summary, names}; }
  [[nodiscard]] difference_report::side side(const std::string& path) const {
    const auto since_begin = [&](std::uint64_t time) {
      return static_cast<double>(std::min(time, summary.last_time) - summary.first_time) /
             static_cast<double>(reader->ticks_per_second());
    };
    difference_report::side side{
        path, reader->header(), reader->warning(), summary.lost, since_begin(summary.last_time),
        {}};
    for (const trace::moment_figures& each : summary.over_time)
      side.over_time.push_back({since_begin(each.end), each.bytes});
    return side;
  }
};

// Effects: says once what is not named in either of them, and why the listed call sites have no
// lines.
void tell_what_has_no_name(const read_trace& before, const read_trace& after,
                           const difference_report& report, std::size_t rows) {
  std::vector<trace::call_names::lost_file> lost = before.names.lost();
  for (const auto& file : after.names.lost())
    if (std::ranges::find(lost, file) == lost.end()) lost.push_back(file);
  std::vector<call_site> listed;
  for (const sites::compared_site& site : report.found.sites)
    if (listed.size() < rows) listed.push_back({site.after, site.calls});
  tell_missing_names(lost, files_without_lines(listed));
}

// Returns: that the figure grew by more than it may; empty where it did not.
std::string excess_of(const difference_report& report, const diff_options& options) {
  const sites::compared_figures& all = report.found.all;
  const measure_text& by = report.by;
  if (!options.fail_above || !all.grew(by.figure) || all.change(by.figure) <= *options.fail_above)
    return {};
  return fmt::format("{} grew by {}, more than {} (--fail-above)", by.noun,
                     by.format(all.change(by.figure)), by.format(*options.fail_above));
}

// Returns: the call sites whose figure grew, the most first: errors where all grew by too much.
std::vector<result> results_of(const difference_report& report, const diff_options& options) {
  const std::string excess = excess_of(report, options);
  const measure_text& by = report.by;
  std::vector<result> results;
  for (const sites::compared_site& site : report.found.sites) {
    if (results.size() == options.rows) break;
    if (!site.grew(by.figure) || site.calls.empty()) continue;
    const report::call_site from = site_for(site.calls);
    result one{"increase", excess.empty() ? "note" : "error", {}, from.source};
    one.message = fmt::format(
        "{} {} more, {} before and {} now, asked for by {}", by.format(site.change(by.figure)),
        by.label, by.format(site.before.*by.figure), by.format(site.after.*by.figure), from.name);
    if (!excess.empty()) one.message += "; " + excess;
    results.push_back(std::move(one));
  }
  if (results.empty() && !excess.empty()) results.push_back({"increase", "error", excess, {}});
  return results;
}

// Returns: what the files are to have that were asked for: the JSON first, then the page.
std::vector<std::string> contents_of(const difference_report& report, const diff_options& options) {
  std::vector<std::string> contents;
  if (!options.json_path.empty())
    contents.push_back(options.format.empty()
                           ? files::json_text(difference_json(report), 2) + "\n"
                           : results_text(options.format, "diff", results_of(report, options)));
  if (!options.output.empty()) contents.push_back(report::html_page(difference_page_data(report)));
  return contents;
}

// Effects: writes the JSON and the page, prints the report. Returns: the exit status. Throws:
// command_error.
int diff_command(const diff_options& options) {
  const measure_text& by = measure_named(options.by);
  return with_trace_errors([&] {
    files::replaced_files files({options.before, options.after});
    if (!options.json_path.empty())
      files.prepare(option_of_path(options.format), options.json_path);
    if (!options.output.empty()) files.prepare("-o", options.output);
    read_trace before(options.before);
    read_trace after(options.after);
    const difference_report report{
        before.side(options.before), after.side(options.after), by,
        sites::differ(before.recording(), after.recording(), by.figure, options.depth)};
    // The files first: a reader who has seen enough ends this process (diff ... | head).
    const std::vector<std::string> contents = contents_of(report, options);
    files.commit(contents);
    print_beside(files, render_difference(report, static_cast<std::size_t>(options.rows),
                                          options.full || options.depth != most_depth));
    tell_what_has_no_name(before, after, report, static_cast<std::size_t>(options.rows));
    if (!options.output.empty())
      fmt::print(stderr, "ashlar diff: {} ({})\n", options.output,
                 format_bytes(contents.back().size()));
    const std::string excess = excess_of(report, options);
    if (excess.empty()) return 0;
    fmt::print(stderr, "ashlar: {}\n", excess);
    return static_cast<int>(status_failed);
  });
}

}  // namespace

void add_diff(command_parser& to) {
  command& diff = to.add({"diff", "Two recordings beside each other, by call site and by size",
                          "[OPTIONS] BEFORE AFTER", diff_footer});
  const auto with = std::make_shared<diff_options>();
  diff.argument("BEFORE", with->before, "What ashlar record wrote");
  diff.argument("AFTER", with->after, "The same of the other version");
  diff.value("--by", "FIGURE", with->by,
             "peak (default), held, allocated, allocations or temporaries");
  diff.value("--fail-above", "SIZE", with->fail_above,
             "Exit status 1 where it grew by more (0, 64KiB, ...)")
      .in_bytes();
  diff.output(with->output, "Write a page about all that differs to FILE, too");
  diff.json(with->json_path, "All that differs as JSON, on standard output or into FILE");
  diff.value("--for", "FORMAT[=FILE]", with->format, results_help);
  diff.value("--rows", "N", with->rows, "So many call sites and sizes (default 10)");
  diff.value("--depth", "N", with->depth,
             "Tell call sites apart by their N innermost functions (default: all)")
      .within(1, most_depth);
  diff.flag("--full", with->full, all_calls_help);
  diff.does([with] {
    take_format(with->format, with->json_path);
    return diff_command(*with);
  });
}

}  // namespace ashlar::cli
