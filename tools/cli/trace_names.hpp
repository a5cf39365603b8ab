// tools/cli/trace_names.hpp: the names of its calls, put into a trace. Layer: cli.
#pragma once

#include <string>

namespace ashlar::cli {

// Effects: writes the trace with the names of its calls to `output`, whole or not at all; that may be
// the trace itself, but no file of another kind. Says on standard error how many calls have names and
// lines, and why others have none. A trace that would stay as it is, is not written. Throws:
// command_error for what is no trace, is damaged, has no calls, or cannot be written.
void put_names_into(const std::string& path, const std::string& output);

// Effects: the same of a profile in pprof's format. Returns: false, with nothing done, where the file
// is none.
bool put_names_into_profile(const std::string& path, const std::string& output);

}  // namespace ashlar::cli
