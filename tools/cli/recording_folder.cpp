// tools/cli/recording_folder.cpp. Layer: cli.
#include "tools/cli/recording_folder.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include "tools/cli/error.hpp"
#include "tools/cli/process_files.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::cli {

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
