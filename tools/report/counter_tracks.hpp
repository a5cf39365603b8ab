// tools/report/counter_tracks.hpp: a report's time line for viewers of traces. Layer: report.
#pragma once

#include <nlohmann/json.hpp>

namespace ashlar::report {

/// Returns: the time line in `data`, which trace_data() returned, in the Trace Event Format that Perfetto
/// and Chrome's tracing page open: counters of live bytes and blocks, and one for each call site that the
/// time line has. A counter has an event where its value changes, times are microseconds since the first
/// event of the trace.
[[nodiscard]] nlohmann::json counter_tracks(const nlohmann::json& data);

}  // namespace ashlar::report
