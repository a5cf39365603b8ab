// tools/cli/recorded_program.hpp: a program that runs with the recorder. Layer: cli.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "tools/attach/attached_process.hpp"
#include "tools/files/files.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/trace/file_recorder.hpp"
#include "tools/trace/recorder.hpp"

namespace ashlar::cli {

// Takes what programs record while they run.

// What cannot be written does not disturb the program: it is said when that has ended.
class drain_while_running {
 public:
  explicit drain_while_running(trace::recorder& recorder) : recorder_(recorder) {}

  // Returns: after how long the next time is due.
  std::chrono::nanoseconds operator()() {
    using std::chrono::milliseconds;
    if (failure_ != nullptr) return milliseconds(1000);
    try {
      // As long as there is something, it is looked at once more soon; a program at rest is not
      // woken for.
      pause_ = recorder_.drain() != 0 ? milliseconds(1) : std::min(2 * pause_, milliseconds(20));
    } catch (...) {
      failure_ = std::current_exception();
      recorder_.stop();
    }
    return pause_;
  }
  [[nodiscard]] bool has_failed() const { return failure_ != nullptr; }
  // Throws: what made writing fail.
  void finish() {
    if (failure_ == nullptr) return recorder_.finish();
    std::rethrow_exception(failure_);
  }

 private:
  trace::recorder& recorder_;
  std::chrono::milliseconds pause_{1};
  std::exception_ptr failure_;
};

// What is to be run, and what that takes. It lives until all is written: signals are kept back as
// long.
class recorded_program {
 public:
  // `on`: what allocates behind the recorder: "ashlar", a library, or empty: what the program uses by
  // itself.
  explicit recorded_program(std::vector<std::string> command, std::string on = {});

  // Effects: runs the program with this recorder, which is told its process first. Where recording
  // fails meanwhile, the program goes on: failure(). Says on standard error where a setting of the
  // program would show more. Throws: command_error when the program cannot be run.
  measure::child_outcome run(trace::recorder& recorder,
                             const std::function<void(std::uint32_t pid)>& begin);
  // Effects: where there is no result of the program itself, says why `missing` is. Returns: its wait status.
  // Throws: as fail_beside().
  [[nodiscard]] int end(bool has_result, std::string_view missing,
                        const measure::child_outcome& outcome) const;
  // Why there is not all that the program did; empty: there is.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  [[nodiscard]] std::string preloaded() const;
  [[nodiscard]] std::string why_nothing(const measure::child_outcome& outcome) const;

  std::vector<std::string> command_;
  std::string on_;
  measure::signal_watch watch_;
  files::scratch_directory scratch_;
  std::string program_;
  std::string library_;
  std::string recorder_name_;  // of the library, for the loader
  std::string failure_;
};

// Whether the process that was run is among what has a result.
template <class Results>
bool has_process(const Results& results, const measure::child_outcome& outcome) {
  return std::ranges::any_of(
      results, [&](const auto& r) { return r.pid == static_cast<std::uint32_t>(outcome.pid); });
}

// A process that ran already, with the recorder.

// Signals are kept back while it lives: they end the recording, and what was recorded is written.
class attached_program {
 public:
  // Effects: makes the process ready. Where the process itself began the recording, and runs this
  // command as its writer of `trace`, it is ready. Throws: command_error.
  attached_program(pid_t pid, const std::string& trace);
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
  // Effects: records the process until it ends, a signal arrives, the recording's owner is gone
  // (agent/recordings.hpp), or so long; then it goes on as before. Requires: the recorder has
  // memory(). Throws: command_error: it cannot begin.
  outcome run(trace::recorder& recorder, std::optional<std::chrono::seconds> longest);

 private:
  [[nodiscard]] bool is_over(const trace::recorder& recorder) const;

  pid_t pid_;
  int given_memory_ = -1;
  files::open_file owner_;
  int process_ = -1;  // its handle
  measure::signal_watch watch_;
  std::unique_ptr<attach::attached_process> attached_;
};

// What no pointer of a process leads to when it exits.

// Returns: that of a process whose trace up to now is in `trace`.
[[nodiscard]] trace::exit_look search_at_exit(const trace::exiting_process& process,
                                              const std::string& trace,
                                              const std::function<void()>& sign) noexcept;

}  // namespace ashlar::cli
