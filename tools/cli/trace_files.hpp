// tools/cli/trace_files.hpp: where the traces of a program and of those that it starts go. Layer: cli.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/files/files.hpp"
#include "tools/trace/writer.hpp"

namespace ashlar::cli {

inline constexpr const char* no_trace_beside_program =
    "-o -: standard output is the program's, and each process has a trace of its own; name a file";

// A trace grows under NAME.PID.part, which can be read if all else fails, and gets its name when it is whole:
// path_for_process(). Files that were there are not written over, but for a trace that has the name: with it go the
// traces of the processes that were recorded with it.
class trace_files {
 public:
  // Throws: command_error when there is something else, or nothing can be written there.
  explicit trace_files(std::string output);
  ~trace_files();
  trace_files(const trace_files&) = delete;
  trace_files& operator=(const trace_files&) = delete;

  // What the traces have in common: recording_options::recording.
  [[nodiscard]] const std::string& recording() const { return recording_; }
  // For recorder. Throws: command_error.
  trace::byte_sink open(std::uint32_t pid);
  struct written {
    std::string path;
    std::uint64_t bytes = 0;
  };
  // Effects: gives the file its name. Requires: it was opened. Throws: command_error.
  written commit(std::uint32_t pid, std::uint32_t program_pid);
  // Effects: the same with another name. What has that is replaced.
  void commit_as(std::uint32_t pid, const std::string& path);
  [[nodiscard]] bool has(std::uint32_t pid) const { return parts_.contains(pid); }
  // Returns: where it grows until then. Requires: it was opened.
  [[nodiscard]] const std::string& path_of(std::uint32_t pid) const;
  // Returns: the names of the files that have something, but not their names. They stay.
  [[nodiscard]] std::vector<std::string> unfinished() const;

 private:
  struct part;
  [[nodiscard]] std::unique_ptr<part> make_part(std::uint32_t pid) const;

  std::string output_;
  std::string recording_;
  std::string
      former_;  // the recording whose trace has the name; empty: none, or its traces are gone
  std::map<std::uint32_t, std::unique_ptr<part>> parts_;
};

}  // namespace ashlar::cli
