// tools/files/process_status.hpp: what /proc/PID says of a process. Layer: files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include "tools/files/error.hpp"
#include "tools/files/text.hpp"

namespace ashlar::files {

// Effects: use(bytes, count) for the parts of a file of /proc/PID, `most` bytes in all. None: there is no such file.
template <class Use>
void read_process_file(pid_t pid, std::string_view name, Use use, std::size_t most = SIZE_MAX) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  char part[16 << 10];
  while (most != 0) {
    file.read(part, static_cast<std::streamsize>(std::min(sizeof part, most)));
    const auto got = static_cast<std::size_t>(file.gcount());
    if (got == 0) return;
    use(part, got);
    most -= got;
  }
}
inline std::string process_file(pid_t pid, std::string_view name, std::size_t most = SIZE_MAX) {
  std::string text;
  const auto add = [&](const char* bytes, std::size_t count) { text.append(bytes, count); };
  read_process_file(pid, name, add, most);
  return text;
}

// Returns: the fields of /proc/PID/stat behind the name, which may have blanks and brackets. The first of them is
// number 3 of proc(5).
inline std::vector<std::string> fields_of_stat(pid_t pid) {
  const std::string text = process_file(pid, "stat");
  const std::size_t behind = std::min(text.rfind(')') + 2, text.size());
  const std::vector<std::string_view> parts = parts_of(std::string_view(text).substr(behind), ' ');
  return {parts.begin(), parts.end()};
}

// Whether the drop-in library is mapped in the process, as far as the system tells.
inline bool has_drop_in(pid_t pid) {
  return process_file(pid, "maps").find("/libashlar-malloc") != std::string::npos;
}

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
