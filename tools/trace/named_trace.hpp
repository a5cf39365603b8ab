// tools/trace/named_trace.hpp: a trace with the names of its calls, which is read as well where the
// program that ran is not. Layer: trace.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/trace/call_names.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/source.hpp"
#include "tools/trace/writer.hpp"

namespace ashlar::trace {

struct found_names {
  std::vector<name_definition> names;  ///< of calls that have a function or a line, by address
  std::uint64_t calls = 0;             ///< in all stacks, each address once
  std::uint64_t with_lines = 0;        ///< of these
  /// The programs and libraries whose calls have no line, not one of them.
  std::vector<std::string> without_lines;
};

/// Returns: what the calls in the trace's stacks are called, as far as that can be known now.
/// `progress` is told the share that is done, from 0 to 1.
[[nodiscard]] found_names find_names(const trace_reader& of, call_names& by,
                                     const std::function<void(double)>& progress);

/// Effects: writes the trace that `from` has, with these names and without those that it had. All
/// other frames stay as they are, byte by byte. Where the trace has no end, the copy has none.
/// Requires: a reader has read the header and the definitions. Throws: trace_error for a damaged
/// frame; what `to` throws.
void write_with_names(byte_source& from, const trace_header& header,
                      const std::vector<name_definition>& names, const byte_sink& to);

}  // namespace ashlar::trace
