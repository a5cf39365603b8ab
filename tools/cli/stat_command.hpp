// tools/cli/stat_command.hpp: `ashlar stat`: what is in a trace or a profile. Layer: cli.
#pragma once

#include <cstddef>
#include <string>

namespace ashlar::cli {

struct stat_options {
  std::string path;
  bool json = false;          // instead of the text
  std::size_t rows = 10;      // of sizes and call sites
  std::size_t moments = 200;  // of the JSON's figures over time
};

// Effects: prints the figures on standard output. Returns: the exit status. Throws: command_error.
int stat_command(const stat_options& options);

}  // namespace ashlar::cli
