// tools/cli/stat_command.cpp. Layer: cli.
#include "tools/cli/stat_command.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/cli/trace_report.hpp"

namespace ashlar::cli {

int stat_command(const stat_options& options) {
  return with_trace_errors([&] {
    const auto reader = open_trace(options.path);
    const trace_report report =
        make_trace_report(*reader, options.path, options.rows, options.moments);
    if (options.json) {
      fmt::print("{}\n", trace_report_json(report).dump(2, ' ', false,
                                                        nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print("{}", render_trace_report(report, options.rows, reader_glyphs()));
    }
    return 0;
  });
}

}  // namespace ashlar::cli
