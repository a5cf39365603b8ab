// tools/cli/record_command.hpp: `ashlar record`: a program's allocations into a trace or a profile. Layer: cli.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::cli {

struct record_options {
  std::vector<std::string> command;
  std::string output;                 // empty: run.atrace; of a profile run.aprof
  std::uint32_t stack_depth = 0;      // 0: no stacks
  std::uint32_t profile_seconds = 0;  // 0: a trace; otherwise a profile, written so often
  std::string on;  // "ashlar", a library, or empty: what the program uses by itself
};

// Effects: runs the program with this process's own standard streams; says on standard error what was written. Returns: the
// program's wait status, for end_like(). Throws: command_error.
int record_command(record_options options);

}  // namespace ashlar::cli
