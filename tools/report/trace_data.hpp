// tools/report/trace_data.hpp: what the report says of a trace, from one pass over it. Layer: report.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/report/attachments.hpp"
#include "tools/report/call_tree.hpp"
#include "tools/report/site_rows.hpp"
#include "tools/trace/lifetimes.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::report {

struct trace_request {
  std::string file;                              ///< as it is named on the page
  std::optional<class_set> chosen;               ///< beside the process heap's
  names_of_stack names_of;                       ///< required
  site_of_calls site_of;                         ///< required
  std::function<void(const trace::step&)> also;  ///< is told each step, too; empty: nobody
};

/// Returns: the members of the report's data that are about the trace (docs/report.md lists them).
/// Throws: trace_error. Complexity: one pass; memory does not grow with the number of events.
[[nodiscard]] nlohmann::json trace_data(trace::trace_reader& reader, const trace_request& request);

}  // namespace ashlar::report
