// tools/cli/check_command.hpp: `ashlar check`: do pools that were chosen before still serve a new trace, or the runs of a profile? Layer: cli.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::cli {

struct check_options {
  std::string against;  // what `ashlar tune` wrote as JSON
  std::vector<std::string> inputs;
  std::uint64_t percent = 100;  // of each capacity
};

// Effects: prints each class with its new peak. Returns: 0 where no class passes that many percent of its capacity, 1 where
// one does, a request fits no class, or an input is not whole, so that it cannot be told. Throws: command_error; what tools/trace throws.
int check_command(const check_options& options);

}  // namespace ashlar::cli
