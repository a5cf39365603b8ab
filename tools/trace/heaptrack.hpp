// tools/trace/heaptrack.hpp: heaptrack's raw recordings as traces. Layer: trace.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "tools/trace/writer.hpp"

namespace ashlar::trace {

/// Effects: writes what `heaptrack --raw` recorded (unpacked: zstdcat) as a trace. What such a file does not tell is not
/// there: all events are of thread 1, realloc is a free and a malloc, no alignment is known, and times are those of the
/// last tick of heaptrack's clock of 10 milliseconds. Throws: trace_error, with the offset of the line.
void read_heaptrack(std::istream& from, const std::string& name, std::string_view ashlar_version,
                    const byte_sink& to);

}  // namespace ashlar::trace
