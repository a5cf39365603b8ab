// tools/cli/tune_heap_command.hpp: `ashlar tune --mode heap`: traces and profiles in, the process heap's classes out. Layer: cli.
#pragma once

#include "tools/cli/tune_command.hpp"

namespace ashlar::cli {

// Effects: prints the slack before and after on standard output; writes the files whole or not at all. Returns: the exit
// status. Throws: command_error; what tools/trace throws.
int tune_heap_command(const tune_options& options);

}  // namespace ashlar::cli
