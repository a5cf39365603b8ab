// tools/files/process_status.hpp: what /proc/PID/status says. Layer: files.
#pragma once

#include <fstream>
#include <string>

#include <fmt/format.h>
#include <sys/types.h>

namespace ashlar::files {

// Returns: the value of the line `name`, such as "State"; empty: there is no such line, or no
// process.
inline std::string status_of(pid_t pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return {};
}

}  // namespace ashlar::files
