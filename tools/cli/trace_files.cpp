// tools/cli/trace_files.cpp. Layer: cli.
#include "tools/cli/trace_files.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/format.hpp"
#include "tools/trace/named_profile.hpp"
#include "tools/trace/named_trace.hpp"
#include "tools/trace/reader.hpp"

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

const std::string& trace_files::path_of(std::uint32_t pid) const { return parts_.at(pid)->path; }

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

namespace {

trace::found_names find_names(const std::string& path, const trace::trace_reader& reader,
                              trace::call_names& names) {
  progress_line line;
  return trace::find_names(reader, names, [&](double share) {
    line.tell(fmt::format("naming the calls of {}", path), share);
  });
}

std::string counts_of(const trace::found_names& found) {
  return fmt::format("{} of {} calls have names, {} have file and line",
                     format_count(found.names.size()), format_count(found.calls),
                     format_count(found.with_lines));
}

}  // namespace

void put_names_into(const std::string& path, const std::string& output) {
  with_trace_errors([&] {
    files::replaced_files files;  // it may be the trace: all is read before it is replaced
    const bool replaces = output == path;
    if (!replaces) require_replaceable(output, trace::magic, "trace");
    files.prepare(replaces ? "TRACE" : "-o", output, replaces);
    const auto reader = open_trace(path);
    if (reader->stacks().empty())
      throw input_error(
          fmt::format("'{}' has no calls to name: record it without --no-stacks", path));
    trace::call_names names(*reader);
    const trace::found_names found = find_names(path, *reader, names);
    const bool is_same = replaces && found.names == reader->names();
    if (!is_same) {
      const auto source = trace::open_file_source(path);
      trace::write_with_names(*source, reader->header(), found.names,
                              [&](std::string_view bytes) { files.write(0, bytes); });
      files.commit();
    }
    fmt::print(stderr, "ashlar: {}: {}{}\n", output, counts_of(found),
               is_same ? "; it stays as it was" : "");
    tell_missing_names(names.lost(), found.without_lines);
    return 0;
  });
}

bool put_names_into_profile(const std::string& path, const std::string& output) {
  std::string begin(trace::magic.size(), '\0');
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none) ||
      !std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin)) ||
      begin == trace::magic)
    return false;
  const auto named = trace::with_names(files::read_input(path));
  if (!named) return false;
  files::replaced_files files;
  files.prepare(output == path ? "TRACE" : "-o", output, output == path);
  files.write(0, named->bytes);
  files.commit();
  const std::uint64_t before = named->is_named;
  fmt::print(stderr, "ashlar: {}: {} of {} calls have names, {} have file and line{}\n", output,
             format_count(named->named + before), format_count(named->calls),
             format_count(named->lines),
             before != 0 ? fmt::format("; {} had names before", format_count(before)) : "");
  tell_missing_names(named->lost, named->without_lines);
  return true;
}

namespace fs = std::filesystem;

namespace {

// Throws: input_error where something is there that is not all of a recording.
void require_replaceable_folder(const std::string& output) {
  std::error_code error;
  const fs::path name = fs::path(output).filename();
  if (name.empty() || name == "." || name == "..")
    throw input_error(
        fmt::format("-o {}: a recording is a folder of its own, as NAME.atree; name one", output));
  const fs::file_status status = fs::symlink_status(output, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status))
    throw input_error(fmt::format(
        "'{}' is there and is no folder; name another one with -o, or remove it", output));
  bool is_empty = true;
  for (const auto& entry : fs::directory_iterator(output)) {
    is_empty = false;
    const std::string path = entry.path().string();
    if (entry.path().filename() == index_file_name) continue;
    if (!files::may_be_replaced(path, trace::magic))
      throw input_error(
          fmt::format("'{}' is there and is no trace, which the recording would "
                      "replace; name another folder with -o, or remove it",
                      path));
    require_replaceable(path, trace::magic, "trace");  // and the folder can be written
  }
  // Traces that were recorded one by one stand in a folder of the user's.
  if (!is_empty && !fs::exists(fs::path(output) / index_file_name, error))
    throw input_error(
        fmt::format("'{}' is there and has traces, but no {}, so it is no recording of a tree; "
                    "name another folder with -o, or remove it",
                    output, index_file_name));
}

std::string make_part_folder(const std::string& output) {
  for (std::uint32_t number = 1;; ++number) {
    const std::string path =
        number == 1 ? output + ".part" : fmt::format("{}.{}.part", output, number);
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST)
      throw input_error(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  }
}

// A program's name may be anything that a file's may.
std::string trace_name_of(const recorded_process& p) {
  constexpr std::size_t most = 60;
  std::string name = p.name().substr(0, most);
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("._+-", c);
  };
  std::ranges::replace_if(
      name, [&](char c) { return !is_plain(static_cast<unsigned char>(c)); }, '_');
  return fmt::format("{}.{}.atrace", name.empty() ? "process" : name, p.pid);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

recording_folder::recording_folder(const std::string& output) : output_(without_slash(output)) {
  require_replaceable_folder(output_);
  part_ = make_part_folder(output_);
  traces_.emplace(part_ + "/trace");
}

// What has nothing is of no use to anybody.
recording_folder::~recording_folder() {
  traces_.reset();
  std::error_code stays;
  if (part_ != output_) fs::remove(part_, stays);
}

void recording_folder::commit(recording_index& index, trace_files& traces) {
  for (recorded_process& p : index.processes) {
    if (!traces.has(p.pid)) continue;
    p.trace = trace_name_of(p);
    traces.commit_as(p.pid, fmt::format("{}/{}", part_, p.trace));
  }
  count_processes(index, part_);
  files::replaced_files file;
  file.prepare("-o", fmt::format("{}/{}", part_, index_file_name));
  file.commit({files::json_text(index_json(index), 1) + "\n"});
  require_replaceable_folder(output_);  // somebody may have written there meanwhile
  std::error_code error;
  fs::remove_all(output_, error);
  if (!error) fs::rename(part_, output_, error);
  if (error) throw input_error(fmt::format("cannot write '{}': {}", output_, error.message()));
  part_ = output_;
}

}  // namespace ashlar::cli
