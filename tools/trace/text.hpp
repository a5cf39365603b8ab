// tools/trace/text.hpp: a trace as lines of text, and back. docs/trace-format.md tells what they say. Layer: trace.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "tools/trace/reader.hpp"
#include "tools/trace/writer.hpp"

namespace ashlar::trace {

/// The name of a kind as lines have it: "malloc", "free" ... Returns: empty for no kind.
std::string_view name_of(event_kind kind);

/// Text that has no blanks, no line ends and nothing that is not printed; and back. Returns: false where it is none.
std::string escape(std::string_view text);
bool unescape(std::string_view escaped, std::string& text);

/// Effects: writes all of the trace, events in the reader's order.
void write_text(trace_reader& from, const byte_sink& to);

/// Effects: writes the trace that the lines tell. Throws: trace_error, with the offset of the line.
void read_text(std::istream& from, const std::string& name, const byte_sink& to);

}  // namespace ashlar::trace
