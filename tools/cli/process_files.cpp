// tools/cli/process_files.cpp. Layer: cli.
#include "tools/cli/process_files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/error.hpp"
#include "tools/files/replaced_files.hpp"

namespace ashlar::cli {

namespace fs = std::filesystem;

std::string path_for_process(const std::string& output, std::uint32_t pid,
                             std::uint32_t program_pid) {
  if (pid == program_pid) return output;
  const fs::path whole(output);
  return (whole.parent_path() /
          fmt::format("{}.{}{}", whole.stem().string(), pid, whole.extension().string()))
      .string();
}

std::string free_path_for_process(const std::string& output, std::uint32_t pid,
                                  std::uint32_t program_pid, std::string_view magic) {
  std::string path = path_for_process(output, pid, program_pid);
  if (pid == program_pid) return path;  // it was looked at before the program ran
  std::string free = path;
  for (std::uint32_t number = 2; !files::may_be_replaced(free, magic); ++number)
    free = path_for_process(path, number, 0);
  return free;
}

void require_replaceable(const std::string& output, std::string_view magic, std::string_view kind) {
  if (output == "-") return;
  if (!files::is_any_file_replaced() && !files::may_be_replaced(output, magic))
    throw input_error(fmt::format(
        "'{}' is there and is no {}; name another file with -o, or replace it by --force", output,
        kind));
  const fs::path parent = fs::path(output).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw input_error(
        fmt::format("cannot write '{}': folder '{}': {}", output, folder, std::strerror(errno)));
  }
}

}  // namespace ashlar::cli
