// tools/cli/commands/stat.cpp: `ashlar stat`: what is in a trace or a profile. Layer: cli.
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>

#include "tools/cli/chosen_trace.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/profile_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/cli/trace_report.hpp"
#include "tools/files/json.hpp"
#include "tools/profile/profile_file.hpp"
#include "tools/trace/call_names.hpp"

namespace ashlar::cli {
namespace {

struct stat_options {
  std::string path;
  std::string process;        // of a folder
  bool json = false;          // instead of the text
  std::size_t rows = 10;      // of sizes and call sites
  std::size_t moments = 200;  // of the JSON's figures over time
};

constexpr const char* stat_footer =
    R"(Examples:
  ashlar stat run.atrace
  ashlar stat --json run.atrace > figures.json
  ashlar stat --process cc1plus build.atree

Exit status: 0; 2 for a file that is no trace, is damaged, or is of a newer version.)";

void print_json(const nlohmann::json& report) {
  fmt::print("{}\n", files::json_text(report, 2));
}

int stat_profile(const stat_options& options) {
  const profiling::profile runs = profiling::read_profile(options.path);
  if (options.json) {
    print_json(profile_report_json(runs, options.path));
  } else {
    fmt::print("{}", render_profile_report(runs, options.path, options.rows, reader_glyphs()));
  }
  return 0;
}

// Effects: prints the figures on standard output. Returns: the exit status. Throws: command_error.
int stat_command(const stat_options& options) {
  return with_trace_errors([&] {
    const chosen_trace chosen = choose_trace(options.path, options.process);
    if (!chosen.tree && profiling::is_profile(options.path)) return stat_profile(options);
    const auto reader = open_trace(chosen.path);
    trace::call_names names(*reader);
    const trace_report report =
        make_trace_report(*reader, names, chosen.path, options.rows, options.moments);
    if (options.json) {
      nlohmann::json figures = trace_report_json(report);
      if (chosen.tree) figures["tree"] = index_json(*chosen.tree);
      print_json(figures);
    } else {
      if (chosen.tree) fmt::print("{}", render_tree(*chosen.tree, chosen.folder, options.rows));
      fmt::print("{}", render_trace_report(report, options.rows, reader_glyphs()));
    }
    tell_missing_names(names.lost(), report.without_lines);
    return 0;
  });
}

}  // namespace

void add_stat(command_parser& to) {
  command& stat =
      to.add({"stat", "Tell what is in a trace or a profile", "[OPTIONS] TRACE", stat_footer});
  const auto with = std::make_shared<stat_options>();
  stat.argument("TRACE", with->path, "What record or profile wrote: a file, or a folder");
  stat.value("--process", "NAME", with->process, process_help);
  stat.flag("--json", with->json, "As JSON, with every size and moment");
  stat.value("--rows", "N", with->rows, "So many sizes, call sites and processes (default 10)");
  stat.does([with] { return stat_command(*with); });
}

}  // namespace ashlar::cli
