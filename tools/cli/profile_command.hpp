// tools/cli/profile_command.hpp: `ashlar profile`: traces in, their profile out; `ashlar merge`: profiles in, one out.
// Layer: cli.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

struct profile_options {
  std::vector<std::string> traces;
  std::string output;
};

struct merge_options {
  std::vector<std::string> profiles;  // "-": names from standard input, one a line
  std::string output;
};

// Effects: writes the profile whole or not at all, and says on standard error what it is of. Returns: the exit status.
// Throws: command_error, trace_error.
int profile_command(const profile_options& options);
int merge_command(const merge_options& options);

}  // namespace ashlar::cli
