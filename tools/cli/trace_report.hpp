// tools/cli/trace_report.hpp: the figures of a trace, as a table and as JSON. Layer: cli.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/text.hpp"
#include "tools/sites/growth.hpp"
#include "tools/trace/summary.hpp"

namespace ashlar::cli {

struct trace_report {
  std::string path;
  trace::trace_header header;
  std::string warning;
  trace::trace_summary summary;
  std::vector<site_line> lines;            // of the program, as many as were asked for
  std::vector<call_site> sites;            // those with the most bytes at the peak, likewise
  std::vector<call_site> held;             // those with the most bytes at the end, likewise
  sites::growing_sites growing;            // all of them
  std::vector<std::string> without_lines;  // programs and libraries whose calls come first in these
};

// Effects: reads the trace to its end; `also` is told each step. Without moments there is what
// render_answer() takes, and not all calls get names, which may take seconds. Throws: trace_error.
trace_report make_trace_report(trace::trace_reader& reader, trace::call_names& names,
                               const std::string& path, std::size_t sites, std::size_t moments,
                               const std::function<void(const trace::step&)>& also);

// The first lines: what ran, what it had in memory at its peak, and the lines that held most then.
std::string render_answer(const trace_report& report);
// `rows`: how many sizes are listed, and moments. Where lines are known, the rest only if `is_full`.
std::string render_figures(const trace_report& report, std::size_t rows, bool is_full, glyphs set);
nlohmann::json trace_report_json(const trace_report& report);

}  // namespace ashlar::cli
