// tools/attach/attached_process.hpp: the recorder in a process that runs already. Layer: attach.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace ashlar::attach {

/// Each step makes one thread of the process stand still for some milliseconds, and no longer.
class attached_process {
 public:
  /// Effects: the process has the recorder's library loaded, and memory for a recorder. It runs on,
  /// and nothing is recorded yet. Throws: files::command_error, which says why it cannot be and what
  /// helps.
  attached_process(pid_t pid, const std::string& library);
  /// Effects: closes the descriptors. What was begun goes on.
  ~attached_process();
  attached_process(const attached_process&) = delete;
  attached_process& operator=(const attached_process&) = delete;

  /// The descriptor of that memory, which is empty.
  [[nodiscard]] int memory() const { return memory_; }
  /// Effects: the process is recorded. Requires: a recorder has the memory. Throws:
  /// files::command_error.
  void start();
  /// Effects: it is recorded no more, and calls its own functions again. Returns: false: it has
  /// ended. Throws: files::command_error: then a few instructions of ours stay in each call.
  bool stop();
  /// Returns: whether it has ended, or does so within this time.
  [[nodiscard]] bool ends_within(std::uint32_t ms) const;
  /// Returns: how long threads stood still, in the longest step.
  [[nodiscard]] double pause_ms() const { return pause_ms_; }

 private:
  void load(const std::string& library);

  pid_t pid_;
  int handle_ = -1;  // of the process: another one may get its number
  int memory_ = -1;
  int memory_there_ = -1;  // its number in the process
  std::string loaded_;     // the path that the process has the library by
  double pause_ms_ = 0;
};

}  // namespace ashlar::attach
