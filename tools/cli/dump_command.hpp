// tools/cli/dump_command.hpp: `ashlar dump`: a trace as text, and text or another tool's recording as a trace. Layer: cli.
#pragma once

#include <string>

namespace ashlar::cli {

struct dump_options {
  std::string
      input;  // a trace; with from_text or from_heaptrack, what is read instead; "-": standard input
  std::string output;  // empty: standard output (a trace is not written to a terminal)
  bool from_text = false;
  bool from_heaptrack = false;
};

// Returns: the exit status. Throws: command_error; nothing half-written is left.
int dump_command(const dump_options& options);

}  // namespace ashlar::cli
