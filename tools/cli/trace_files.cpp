// tools/cli/trace_files.cpp. Layer: cli.
#include "tools/cli/trace_files.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/error.hpp"
#include "tools/cli/process_files.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::cli {

struct trace_files::part {
  part(std::string part_path, int descriptor) : path(std::move(part_path)), file(descriptor) {}
  std::string path;
  open_file file;
  std::uint64_t bytes = 0;
};

namespace {

void write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      throw command_error(status_failed,
                          fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

}  // namespace

trace_files::trace_files(std::string output) : output_(std::move(output)) {
  require_replaceable(output_, trace::magic, "trace");
}

// What did not get its name: nobody is to take it for a trace.
trace_files::~trace_files() {
  for (const auto& [pid, each] : parts_) ::unlink(each->path.c_str());
}

trace::byte_sink trace_files::open(std::uint32_t pid) {
  std::string path = fmt::format("{}.{}.part", output_, pid);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw input_error(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  part* const opened = (parts_[pid] = std::make_unique<part>(std::move(path), file)).get();
  return [opened](std::string_view bytes) {
    write_all(opened->file.descriptor(), bytes, opened->path);
    opened->bytes += bytes.size();
  };
}

trace_files::written trace_files::commit(std::uint32_t pid, std::uint32_t program_pid) {
  const auto found = parts_.find(pid);
  const std::string path = path_for_process(output_, pid, program_pid);
  if (::rename(found->second->path.c_str(), path.c_str()) != 0)
    throw command_error(status_failed,
                        fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  const std::uint64_t bytes = found->second->bytes;
  parts_.erase(found);
  return {path, bytes};
}

}  // namespace ashlar::cli
