// tools/files/error.hpp: how a command gives up: one message that names the thing and the remedy,
// one exit status. Layer: files.
#pragma once

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace ashlar::files {

// The statuses of this tool itself; what a program returned is passed through beside them.
inline constexpr int status_failed = 1;
inline constexpr int status_usage = 2;
inline constexpr int status_not_executable = 126;  // as the shell and env(1)
inline constexpr int status_not_found = 127;

struct command_error : std::runtime_error {
  command_error(int status, const std::string& message)
      : std::runtime_error(message), exit_status(status) {}
  int exit_status;
};

// What a command was given to read is not what it has to be, or what it was given to write cannot
// be written: status 2, too, but the options were right. (Where a program was run, its end matters
// more: fail_beside().)
struct input_error : command_error {
  explicit input_error(const std::string& message) : command_error(status_usage, message) {}
};

// Returns: what went wrong; of what the system refuses, the path and its reason alone.
inline std::string reason_of(const std::exception& error) {
  const auto* const by_system = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (by_system == nullptr) return error.what();
  return fmt::format("'{}': {}", by_system->path1().string(), by_system->code().message());
}

// What a program did cannot be written or was not recorded, but it ran, and how it ended is told by
// nothing but the status. Effects: says why on standard error. Returns: the status, of an exit or
// of waitpid(2). Throws: where that is 0, which would be taken for success of all: command_error of
// status_failed.
inline int fail_beside(int status, const std::string& why) {
  if (status == 0) throw command_error(status_failed, why);
  fmt::print(stderr, "ashlar: {}\n", why);
  return status;
}

}  // namespace ashlar::files
