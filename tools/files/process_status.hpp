// tools/files/process_status.hpp: what /proc/PID/status says. Layer: files.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include "tools/files/error.hpp"

namespace ashlar::files {

// Returns: the value of the line `name`, such as "State"; empty: there is no such line, or no
// process.
inline std::string status_of(pid_t pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return {};
}

// Returns: the user that the process runs as. Throws: command_error, where the caller may ask nothing of it.
inline uid_t require_own_process(pid_t pid) {
  const auto owner = static_cast<uid_t>(std::strtoul(status_of(pid, "Uid").c_str(), nullptr, 10));
  if (owner != ::geteuid() && ::geteuid() != 0)
    throw command_error(
        status_failed,
        fmt::format("process {} belongs to another user (number {}): run the command as that user, "
                    "or as root",
                    pid, owner));
  return owner;
}

}  // namespace ashlar::files
