// tools/cli/recorded_program.cpp. Layer: cli.
#include "tools/cli/recorded_program.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/drain_while_running.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/measure/program_file.hpp"
#include "tools/trace/spool.hpp"

namespace ashlar::cli {
namespace {

// Python asks malloc for large objects only, unless this variable says otherwise.
void tell_of_python(trace::recorder& recorder, std::uint32_t pid) {
  if (std::getenv("PYTHONMALLOC") != nullptr) return;
  for (const trace::process_history& history : recorder.histories()) {
    const bool is_set_by_env = std::ranges::any_of(history.images, [](const auto& image) {
      return image.arguments.find("PYTHONMALLOC=") != std::string::npos;
    });
    const std::string name = std::filesystem::path(history.images.back().path).filename().string();
    if (history.pid == pid && !is_set_by_env && name.starts_with("python"))
      fmt::print(stderr,
                 "ashlar: {} serves small objects from pools of its own; with PYTHONMALLOC=malloc "
                 "in the environment, the recording has each object\n",
                 printable(name));
  }
}

}  // namespace

recorded_program::recorded_program(std::vector<std::string> command, std::string on)
    : command_(std::move(command)),
      on_(std::move(on)),
      program_(measure::find_program(command_.front())),
      library_(measure::find_record_library()),
      recorder_name_(measure::preloadable_name(library_, scratch_)) {}

std::string recorded_program::preloaded() const {
  std::string value = recorder_name_;
  if (on_ == "ashlar") {
    value +=
        fmt::format(":{}", measure::preloadable_name(measure::find_ashlar_library(), scratch_));
  } else if (!on_.empty()) {
    value += fmt::format(
        ":{}", measure::preloadable_name(
                   measure::find_given_library(fmt::format("--on {}", on_), on_), scratch_));
  }
  return measure::preload_value(value);
}

measure::child_outcome recorded_program::run(trace::recorder& recorder,
                                             const std::function<void(std::uint32_t pid)>& begin) {
  drain_while_running drain(recorder);
  measure::child_request request;
  request.file = program_;
  request.arguments = command_;
  request.environment = measure::environment_with(
      {{"LD_PRELOAD", preloaded()}, {trace::spool_variable, recorder.spool_path()}});
  const auto begin_with = [&](pid_t pid) {
    recorder.set_program(static_cast<std::uint32_t>(pid));
    begin(static_cast<std::uint32_t>(pid));
  };
  request.meanwhile = [&](pid_t pid) {
    begin_with(pid);
    return drain();
  };
  measure::child_outcome outcome = measure::run_child(request, watch_);
  measure::require_started(outcome, program_);
  begin_with(outcome.pid);
  try {
    drain.finish();
    tell_of_python(recorder, static_cast<std::uint32_t>(outcome.pid));
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
  return outcome;
}

std::string recorded_program::why_nothing(const measure::child_outcome& outcome) const {
  const measure::preload_effect effect = measure::effect_of_preload(program_, library_);
  if (effect != measure::preload_effect::works)
    return fmt::format("'{}' cannot be recorded: {}", program_, measure::describe(effect));
  const std::string complaint = measure::preload_complaint(recorder_name_, watch_);
  if (!complaint.empty()) {
    return fmt::format(
        "the loader does not take the recorder (build it for this machine; ASHLAR_RECORD_LIB names "
        "another): {}",
        complaint);
  }
  return fmt::format(
      "the program ({}) began without the recorder: the recorder or the loader said above why; "
      "where neither did, something that is statically linked runs the program, or a security "
      "policy keeps LD_PRELOAD from it",
      measure::describe_wait_status(outcome.wait_status));
}

int recorded_program::end(bool has_result, std::string_view missing,
                          const measure::child_outcome& outcome) const {
  if (has_result) return outcome.wait_status;
  return fail_beside(outcome.wait_status, fmt::format("no {}: {}", missing, why_nothing(outcome)));
}

}  // namespace ashlar::cli
