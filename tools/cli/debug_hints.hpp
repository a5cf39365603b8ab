// tools/cli/debug_hints.hpp: why calls have no names or lines, and what helps. Layer: cli.
#pragma once

#include <string>
#include <vector>

#include "tools/trace/call_names.hpp"

namespace ashlar::cli {

// Effects: says on standard error, in one line each, which programs and libraries are gone, or are
// other builds than those that ran; and in one line that the others of `without_lines` have no debug
// information, and where it is to be had. Says, too, where the servers of DEBUGINFOD_URLS could not
// be asked.
void tell_missing_names(const std::vector<trace::call_names::lost_file>& lost,
                        const std::vector<std::string>& without_lines);

// Returns: where the debug information of a file is to be had.
std::string remedy_for(const std::string& path);

}  // namespace ashlar::cli
