// tools/cli/commands/findings.cpp: `ashlar findings`: what to change in a program. Layer: cli.
#include <cstddef>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "tools/cli/call_times.hpp"
#include "tools/cli/chosen_trace.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/finding_report.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/findings/finder.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::cli {
namespace {

struct findings_options {
  std::string trace;
  std::string process;    // of a folder
  std::string json_path;  // empty: none
  std::size_t rows = 10;
};

constexpr const char* findings_footer =
    R"(Each finding is a line of the program, what it costs, and what would be better. The first is worth
the most: bytes at the peak, then allocations, then address space. docs/findings.md has the kinds and
their thresholds.

Examples:
  ashlar record --stacks -o run.atrace -- ./program
  ashlar findings run.atrace

Exit status: 0; 2 for a file that is no trace, is damaged, or has no call stacks.)";

std::string json_text_of(const findings::findings_of_run& found,
                         const std::optional<call_times>& times, const std::string& path) {
  nlohmann::json all = findings_json(found, times);
  all["report"] = "findings";
  all["schema"] = 1;
  all["trace"] = path;
  return files::json_text(all, 1) + '\n';
}

// Effects: prints the findings on standard output. Returns: the exit status. Throws: command_error.
int findings_command(const findings_options& options) {
  return with_trace_errors([&] {
    files::replaced_files files({options.trace});
    if (!options.json_path.empty()) files.prepare("--json", options.json_path);
    const chosen_trace chosen = choose_trace(options.trace, options.process);
    const auto reader = open_trace(chosen.path);
    if (reader->stacks().empty())
      throw input_error(
          fmt::format("{}: it has no call stacks, so no line can be named: record with 'ashlar "
                      "record --stacks'",
                      chosen.path));
    trace::call_names names(*reader);
    findings::finder finder(reader->stacks(),
                            [&](const trace::stack_definition& stack) { return names.of(stack); });
    trace::lifetimes steps(*reader);
    call_timer timer;
    for (trace::step s; steps.next(s);) {
      finder.count(s);
      timer.count(s);
    }
    const findings::findings_of_run found = finder.findings();
    const std::optional<call_times> times = take_time(found) ? timer.measure() : std::nullopt;
    // The file first: a reader who has seen enough ends this process (findings ... | head).
    if (!options.json_path.empty()) files.commit({json_text_of(found, times, chosen.path)});
    if (chosen.tree)
      std::fputs(render_tree(*chosen.tree, chosen.folder, options.rows).c_str(), stdout);
    std::fputs(render_findings(chosen.path, found, times, options.rows).c_str(), stdout);
    tell_missing_names(names.lost(), found.without_lines);
    return 0;
  });
}

}  // namespace

void add_findings(command_parser& to) {
  command& findings = to.add({"findings", "What to change, by line: the costs and the remedies",
                              "[OPTIONS] TRACE", findings_footer});
  const auto with = std::make_shared<findings_options>();
  findings.argument("TRACE", with->trace, "What ashlar record --stacks wrote: a file, or a folder");
  findings.value("--process", "NAME", with->process, process_help);
  findings.file("--json", with->json_path, "Write all findings to FILE, too");
  findings.value("--rows", "N", with->rows, "So many findings (default 10)");
  findings.does([with] { return findings_command(*with); });
}

}  // namespace ashlar::cli
