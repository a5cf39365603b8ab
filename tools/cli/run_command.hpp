// tools/cli/run_command.hpp: `ashlar run`: a program on ashlar's heap, then the report of its
// pools. Layer: cli.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

struct run_options {
  std::vector<std::string> command;
  std::string json_path;  // empty: none
  bool full_report = false;
  bool exact = false;
};

// Effects: runs the program with this process's own standard streams, prints the report on standard
// error. Returns: the program's wait status, for end_like(). Throws: command_error.
int run_command(const run_options& options);

}  // namespace ashlar::cli
