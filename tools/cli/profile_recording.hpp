// tools/cli/profile_recording.hpp: the profile of a program and of those that it starts, while they run. Layer: cli.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/files/background_files.hpp"
#include "tools/trace/stream_recorder.hpp"

namespace ashlar::cli {

// A process's profile is written every so often and at its end, each time in place of the one before. What is kept of a
// process goes with it.
class profile_recording {
 public:
  // Throws: command_error when there is something else, or nothing can be written there.
  profile_recording(std::string output, std::chrono::seconds each);
  profile_recording(const profile_recording&) = delete;
  profile_recording& operator=(const profile_recording&) = delete;
  ~profile_recording();

  // The process whose profile has the output's own name. Requires: before the first open().
  void begin(std::uint32_t program_pid) { program_pid_ = program_pid; }
  // For stream_recorder.
  std::unique_ptr<trace::stream_reader> open(std::uint32_t pid, trace::event_source& from);

  struct result {
    std::string path;
    std::uint32_t pid = 0;
    std::uint64_t births = 0;
    std::uint64_t deaths = 0;
    std::uint64_t bytes = 0;  // of the file
  };
  // Effects: waits until all is written. Returns: what could not be, and why; empty: all could.
  std::string finish();
  // Of each process that ended, in that order.
  [[nodiscard]] const std::vector<result>& results() const { return results_; }

 private:
  class process_profile;
  std::string path_of(std::uint32_t pid);

  std::string output_;
  std::chrono::seconds each_;
  std::uint32_t program_pid_ = 0;
  std::map<std::uint32_t, std::uint32_t> seen_;  // how many processes had this number
  std::vector<result> results_;
  files::background_files files_;
};

}  // namespace ashlar::cli
