// tools/cli/memory_report.hpp: what a process had in memory at its peak, for people. Layer: cli.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/report/memory_rows.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/summary.hpp"

namespace ashlar::cli {

// Effects: what the program mapped by itself, and threads' stacks, have the names of their lines, and
// static data that of its largest variable, as far as they are a tenth of the peak.
void name_mappings(trace::trace_summary& of, const trace::trace_reader& from,
                   trace::call_names& names);

// Whether it is a hundredth: what is less is not told by itself.
bool is_notable(std::uint64_t bytes, std::uint64_t of);
// A line of a first screen: bytes, their share of all, and what they are.
std::string share_line(std::uint64_t bytes, std::uint64_t of, std::string_view what);
// Of a trace's first screen: a line, and what it adds up from. `seconds`: of the look, since the first
// event.
std::string render_memory(const trace::resident_memory& memory, const trace::trace_header& of,
                          double seconds, std::string_view interpreters_holder);
// In one line: the peak, and the largest of what it is.
std::string memory_line(const trace::resident_memory& memory, const trace::trace_header& of);

}  // namespace ashlar::cli
