// tools/cli/memory_report.hpp: what a process had in memory at its peak, for people. Layer: cli.
#pragma once

#include <string>

#include "tools/report/memory_rows.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::cli {

// Effects: what the program mapped by itself has the names of its lines.
void name_mappings(trace::resident_memory& of, const trace::trace_reader& from,
                   trace::call_names& names);

// Of a trace's first screen: a line, and a table under it. `seconds`: of the look, since the first
// event.
std::string render_memory(const trace::resident_memory& memory, const trace::trace_header& of,
                          double seconds);
// In one line: the peak, and the largest of what it is.
std::string memory_line(const trace::resident_memory& memory, const trace::trace_header& of);

}  // namespace ashlar::cli
