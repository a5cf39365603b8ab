// tools/cli/stat_command.cpp. Layer: cli.
#include "tools/cli/stat_command.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "tools/cli/profile_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/cli/trace_report.hpp"
#include "tools/json/text.hpp"
#include "tools/profile/profile_file.hpp"

namespace ashlar::cli {

namespace {

void print_json(const nlohmann::json& report) {
  fmt::print("{}\n", json_files::text_of(report, 2));
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

}  // namespace

int stat_command(const stat_options& options) {
  return with_trace_errors([&] {
    if (profiling::is_profile(options.path)) return stat_profile(options);
    const auto reader = open_trace(options.path);
    const trace_report report =
        make_trace_report(*reader, options.path, options.rows, options.moments);
    if (options.json) {
      print_json(trace_report_json(report));
    } else {
      fmt::print("{}", render_trace_report(report, options.rows, reader_glyphs()));
    }
    return 0;
  });
}

}  // namespace ashlar::cli
