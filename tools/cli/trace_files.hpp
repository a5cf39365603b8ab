// tools/cli/trace_files.hpp: where the traces of a program and of those that it starts go. Layer: cli.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/recording_index.hpp"
#include "tools/files/files.hpp"
#include "tools/trace/writer.hpp"

namespace ashlar::cli {

// What the files are called that tell of a program and of those that it starts.

// Returns: the file's own name for the program's process; for another one NAME with .PID before the extension.
std::string path_for_process(const std::string& output, std::uint32_t pid,
                             std::uint32_t program_pid);

// Returns: the same, of another process with a number added where it has a file that require_replaceable() would refuse.
std::string free_path_for_process(const std::string& output, std::uint32_t pid,
                                  std::uint32_t program_pid, std::string_view magic);

// Effects: finds out whether a file of this kind can be written there. One that is there has to be empty or to begin with
// `magic`: another is not written over by mistake. Throws: input_error, which calls it no `kind`.
void require_replaceable(const std::string& output, std::string_view magic, std::string_view kind);

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

// The names of its calls, put into a trace.

// Effects: writes the trace with the names of its calls to `output`, whole or not at all; that may be
// the trace itself, but no file of another kind. Says on standard error how many calls have names and
// lines, and why others have none. A trace that would stay as it is, is not written. Throws:
// command_error for what is no trace, is damaged, has no calls, or cannot be written.
void put_names_into(const std::string& path, const std::string& output);

// Effects: the same of a profile in pprof's format. Returns: false, with nothing done, where the file
// is none.
bool put_names_into_profile(const std::string& path, const std::string& output);

// Where the traces of a whole tree of processes go, and its index.

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
