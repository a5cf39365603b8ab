// tools/cli/trace_files.cpp. Layer: cli.
#include "tools/cli/trace_files.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include "tools/cli/error.hpp"
#include "tools/cli/process_files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::cli {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw input_error(fmt::format("cannot write '{}': {}", path, std::strerror(error)));
}

std::string new_recording() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    number =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  return fmt::format("{:016x}", number);
}

// Returns: what the header of a trace says of it; empty where there is no trace, or an older one.
std::string recording_of(const std::string& path) {
  try {
    return std::string(trace::read_header(*trace::open_file_source(path))
                           .header.get(trace::header_name::recording));
  } catch (const trace::trace_error&) {
    return {};
  }
}

// Effects: removes the traces beside `output` that have the name of a process and are of this recording.
void remove_children(const std::string& output, const std::string& recording) {
  const fs::path whole(output);
  const std::string begin = whole.stem().string() + '.';
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(whole.parent_path().empty() ? "." : whole.parent_path(), error)) {
    const fs::path& path = entry.path();
    const std::string stem = path.stem().string();
    if (path.extension() != whole.extension() || !stem.starts_with(begin) ||
        stem.find_first_not_of("0123456789.", begin.size()) != std::string::npos)
      continue;
    if (recording_of(path.string()) == recording) fs::remove(path, error);
  }
}

}  // namespace

struct trace_files::part {
  std::string path;
  std::uint64_t bytes = 0;  // of what was appended whole: less than a header cannot be read

  // Nothing stays open between two frames: there are as many traces as processes, of which a program may start more than
  // a process may have files open.
  void append(std::string_view more) {
    const files::open_file file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
    if (file.descriptor() < 0) fail_to_write(path, errno);
    if (const int error = files::write_all(file.descriptor(), more); error != 0)
      fail_to_write(path, error);
    bytes += more.size();
  }
};

trace_files::trace_files(std::string output)
    : output_(std::move(output)), recording_(new_recording()), former_(recording_of(output_)) {
  require_replaceable(output_, trace::magic, "trace");
  // A name that is too long, say, is found before the program runs.
  const files::signals_held_back until_it_is_gone;
  ::unlink(make_part(UINT32_MAX)->path.c_str());
}

// What has nothing is of no use to anybody.
trace_files::~trace_files() {
  for (const auto& [pid, each] : parts_) {
    if (each->bytes == 0) ::unlink(each->path.c_str());
  }
}

// A recorder that was killed may have left a file of this name, whose trace is nowhere else.
std::unique_ptr<trace_files::part> trace_files::make_part(std::uint32_t pid) const {
  for (std::uint32_t number = 1;; ++number) {
    std::string path = number == 1 ? fmt::format("{}.{}.part", output_, pid)
                                   : fmt::format("{}.{}.{}.part", output_, pid, number);
    const files::open_file created(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (created.descriptor() >= 0) return std::make_unique<part>(part{std::move(path)});
    if (errno != EEXIST) fail_to_write(output_, errno);
  }
}

trace::byte_sink trace_files::open(std::uint32_t pid) {
  part* const opened = (parts_[pid] = make_part(pid)).get();
  return [opened](std::string_view bytes) { opened->append(bytes); };
}

const std::string& trace_files::path_of(std::uint32_t pid) const {
  return parts_.at(pid)->path;
}

trace_files::written trace_files::commit(std::uint32_t pid, std::uint32_t program_pid) {
  if (!former_.empty()) remove_children(output_, std::exchange(former_, {}));
  const std::string path = free_path_for_process(output_, pid, program_pid, trace::magic);
  const std::uint64_t bytes = parts_.at(pid)->bytes;
  commit_as(pid, path);
  return {path, bytes};
}

void trace_files::commit_as(std::uint32_t pid, const std::string& path) {
  const auto found = parts_.find(pid);
  if (::rename(found->second->path.c_str(), path.c_str()) != 0) fail_to_write(path, errno);
  parts_.erase(found);
}

std::vector<std::string> trace_files::unfinished() const {
  std::vector<std::string> names;
  for (const auto& [pid, each] : parts_) {
    if (each->bytes != 0) names.push_back(each->path);
  }
  return names;
}

}  // namespace ashlar::cli
