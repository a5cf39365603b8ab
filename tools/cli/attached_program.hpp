// tools/cli/attached_program.hpp: a process that ran already, with the recorder. Layer: cli.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "tools/attach/attached_process.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/trace/recorder.hpp"

namespace ashlar::cli {

// Signals are kept back while it lives: they end the recording, and what was recorded is written.
class attached_program {
 public:
  // Effects: makes the process ready. Where the process itself began the recording, and runs this
  // command as its writer, it is ready. Throws: command_error.
  explicit attached_program(pid_t pid);
  ~attached_program();
  attached_program(const attached_program&) = delete;
  attached_program& operator=(const attached_program&) = delete;

  [[nodiscard]] int memory() const;
  [[nodiscard]] bool is_writer_of_process() const { return attached_ == nullptr; }

  struct outcome {
    bool goes_on = false;  // the process does
    double pause_ms = 0;   // the longest time for which one of its threads stood still
    std::string failure;   // why there is not all that the process did; empty: there is
    std::string left;      // why it is not as before; empty: it is, or has ended
  };
  // Effects: records the process until it ends, a signal arrives, or so long; then it goes on as
  // before. Requires: the recorder has memory(). Throws: command_error: it cannot begin.
  outcome run(trace::recorder& recorder, std::optional<std::chrono::seconds> longest);

 private:
  [[nodiscard]] bool is_over(const trace::recorder& recorder) const;

  pid_t pid_;
  int given_memory_ = -1;
  int process_ = -1;  // its handle
  measure::signal_watch watch_;
  std::unique_ptr<attach::attached_process> attached_;
};

}  // namespace ashlar::cli
