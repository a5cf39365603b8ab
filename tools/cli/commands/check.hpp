// tools/cli/commands/check.hpp: `ashlar check` of a program, and of a log of faults. Layer: cli.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command_parser.hpp"

namespace ashlar::cli {

struct fault_options {
  std::vector<std::string> command;
  std::string log;        // what was written before; empty: a program is run
  std::string json_path;  // empty: none
  bool goes_on = false;
};

// Effects: runs the program with full checks; tells its faults on standard error. Returns: how it
// ended; 1 where a fault was found and it ended with 0. Throws: command_error.
command_end check_program(const fault_options& options);

// Effects: prints the log with the places of its frames. Returns: 0; 1 where it has a fault. Throws:
// command_error.
command_end check_log(const fault_options& options);

}  // namespace ashlar::cli
