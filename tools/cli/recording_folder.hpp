// tools/cli/recording_folder.hpp: where the traces of a whole tree of processes go, and its index.
// Layer: cli.
#pragma once

#include <optional>
#include <string>

#include "tools/cli/recording_index.hpp"
#include "tools/cli/trace_files.hpp"

namespace ashlar::cli {

// It grows as NAME.part, which can be read if all else fails, and has its name when it is whole. A
// recording that has the name until then is replaced as a whole; another folder is not.
class recording_folder {
 public:
  // Throws: command_error when there is something else, or nothing can be written there.
  explicit recording_folder(const std::string& output);
  ~recording_folder();
  recording_folder(const recording_folder&) = delete;
  recording_folder& operator=(const recording_folder&) = delete;

  [[nodiscard]] trace_files& traces() { return *traces_; }
  // Where it is: the name itself once commit() is through.
  [[nodiscard]] const std::string& path() const { return part_; }
  // Effects: takes these traces, which have the names of their programs then, counts, writes the
  // index; the folder has its name. Throws: command_error, trace_error.
  void commit(recording_index& index, trace_files& traces);

 private:
  std::string output_;
  std::string part_;
  std::optional<trace_files> traces_;
};

}  // namespace ashlar::cli
