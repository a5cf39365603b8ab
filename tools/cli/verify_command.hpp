// tools/cli/verify_command.hpp: `ashlar verify`: is a certificate of `ashlar tune` true? Layer: cli.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

struct verify_options {
  std::string certificate;
  std::vector<std::string> traces;  // where they are not where they were; else none
};

// Effects: prints what was found right. Returns: 0. Throws: command_error, of status_failed where it is refused and only
// there: of status_usage where something cannot be read, or there is no memory for what it says.
int verify_command(const verify_options& options);

}  // namespace ashlar::cli
