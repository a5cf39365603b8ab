// tools/cli/verify_command.hpp: `ashlar verify`: is a certificate of `ashlar tune` true? Layer: cli.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

// Effects: prints what was found right. `traces`: where they are not where they were; else none. Returns: 0. Throws:
// command_error, of status_failed where the certificate is refused.
int verify_command(const std::string& certificate, const std::vector<std::string>& traces);

}  // namespace ashlar::cli
