// tools/cli/recording_index.hpp: what the folder of a recording says of the processes that it has
// traces of. Layer: cli.
//
//   run.atree/
//     index.json             this
//     cc1plus.4712.atrace    a trace for each process that was recorded
//
// The index is written last. A folder without one is of a recorder that was killed, or the user's own:
// its processes are then what the traces of one recording say.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/trace/recorder.hpp"

namespace ashlar::cli {

struct recorded_process {
  struct image {
    std::string program;  // path
    std::vector<std::string> arguments;
  };
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::vector<image> images;          // what it executed, one after the other; at least one
  double begin_seconds = 0;           // of the recording's time; so is the end
  std::optional<double> end_seconds;  // none: it still ran when the recording ended
  std::optional<int> exit_status;     // neither: not known
  std::optional<int> signal;
  bool is_recorded = false;
  std::string trace;  // the file's name in the folder; empty: it has none
  std::uint64_t events = 0;
  std::uint64_t births = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t held_bytes = 0;          // at the end
  std::uint64_t resident_bytes = 0;      // most_in_memory() of its trace
  std::uint64_t proportional_bytes = 0;  // at recording_index::memory

  // "cc1plus": the word that calls what it executed last, else its file, without the folders.
  [[nodiscard]] std::string name() const;
  // Whether a user may mean it: its number, or a file or first word of what it executed.
  [[nodiscard]] bool is_called(const std::string& name_or_pid) const;
};

struct recording_index {
  std::string ashlar;         // version of what wrote it
  std::string recording;      // recording_options::recording
  std::uint64_t started = 0;  // seconds since 1970
  std::vector<std::string> command;
  double seconds = 0;                       // until its last process ended
  std::vector<recorded_process> processes;  // by their begins
  // The most that lived in each of equal stretches of time, summed over the processes: so no moment
  // of the stretch had more.
  std::vector<std::uint64_t> bytes_over_time;
  // What was in memory of all of them together when that was most; resident 0: nobody looked.
  struct together {
    double seconds = 0;
    std::uint64_t processes = 0;  // that ran then
    std::uint64_t resident_bytes = 0;
    std::uint64_t proportional_bytes = 0;  // pages of several are divided among them
    std::vector<double> at_seconds;        // of looks at all of them
    std::vector<std::uint64_t> proportional_over_time;
  } memory;
  std::string warning;  // what it lacks; empty: nothing

  [[nodiscard]] std::uint64_t peak_bytes() const;  // the most of bytes_over_time
  [[nodiscard]] double peak_seconds() const;       // the end of its stretch
};

inline constexpr const char* index_file_name = "index.json";

// Effects: reads the traces of `folder` and counts: fills the figures of the processes and of the
// whole. Requires: the processes' traces, times and numbers are there. Throws: trace_error.
void count_processes(recording_index& index, const std::string& folder);

[[nodiscard]] nlohmann::json index_json(const recording_index& index);

// Returns: what the folder says; where it has no index, what its traces say. Of the traces of several
// recordings, those of one: with the process that allocated most of those that are called so (empty:
// of all). Throws: input_error where it is no folder of a recording; trace_error.
[[nodiscard]] recording_index read_index(const std::string& folder, const std::string& called = "");

// Returns: whether the name is that of a folder: it ends with '/' or ".atree".
[[nodiscard]] bool names_folder(const std::string& output);

}  // namespace ashlar::cli
