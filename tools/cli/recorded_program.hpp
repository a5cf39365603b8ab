// tools/cli/recorded_program.hpp: a program that runs with the recorder. Layer: cli.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/files/files.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/trace/recorder.hpp"

namespace ashlar::cli {

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

}  // namespace ashlar::cli
