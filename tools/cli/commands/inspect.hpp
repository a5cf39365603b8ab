// tools/cli/commands/inspect.hpp: what other commands need of `ashlar inspect`. Layer: cli.
#pragma once

#include <string>

#include <sys/types.h>

namespace ashlar::cli {

// Returns: the number of a process that `word` is. Throws: command_error, of status_usage.
pid_t process_number_of(const std::string& word);

// Effects: as `ashlar inspect --unreachable`. Returns: the exit status. Throws: command_error.
int tell_unreachable(pid_t process, const std::string& json_path);

}  // namespace ashlar::cli
