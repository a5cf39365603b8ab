// tools/cli/record_command.hpp: `ashlar record`: a program's allocations into a trace. Layer: cli.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::cli {

struct record_options {
  std::vector<std::string> command;
  std::string output = "run.atrace";
  std::uint32_t stack_depth = 0;  // 0: no stacks
  std::string on;                 // "ashlar", a library, or empty: what the program uses by itself
};
inline constexpr std::uint32_t default_stack_depth = 16;

// Effects: runs the program with this process's own standard streams; says on standard error what was written. Returns: the
// program's wait status, for end_like(). Throws: command_error.
int record_command(const record_options& options);

}  // namespace ashlar::cli
