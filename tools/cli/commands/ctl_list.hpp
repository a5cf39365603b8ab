// tools/cli/commands/ctl_list.hpp: the list of running processes. Layer: cli.
#pragma once

#include <string>

namespace ashlar::cli {

struct process_list {
  std::string order = "live";  // the column by which it is sorted
  bool once = false;
  bool operator==(const process_list&) const = default;
};

// Effects: shows the list on the screen until somebody ends it; prints it once where that is asked for,
// as JSON too, or standard output is no terminal. Returns: the exit status. Throws: command_error.
int list_processes(const process_list& options, const std::string& json_path);

}  // namespace ashlar::cli
