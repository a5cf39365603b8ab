// tools/cli/commands/record.cpp: `ashlar record`: a program's allocations into a trace or a
// profile. Layer: cli.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/profile_recording.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/files/files.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/measure/program_file.hpp"
#include "tools/trace/file_recorder.hpp"
#include "tools/trace/stream_recorder.hpp"

namespace ashlar::cli {
namespace {

struct record_options {
  std::vector<std::string> command;
  std::string output;                 // empty: run.atrace; of a profile run.aprof
  std::uint32_t stack_depth = 0;      // 0: no stacks
  std::uint32_t profile_seconds = 0;  // 0: a trace; otherwise a profile, written so often
  std::string on;  // "ashlar", a library, or empty: what the program uses by itself
};

constexpr const char* record_footer =
    R"(The program's standard streams are its own; what was written is said on standard error. Each process
that the program forks has a trace of its own: run.PID.atrace.

Examples:
  ashlar record -- python3 work.py
  ashlar record -o parser.atrace --stacks -- ./parser big.json
  ashlar record --on ashlar -- ./server --once
  ashlar record --profile=600 -o server.aprof -- ./server

Exit status: the program's; where a signal killed it, ashlar dies by that signal, too, and the trace is
there. 1 where the program's is 0 and it was not recorded, or the trace could not be written in the end.)";

// Takes what the program wrote while it runs. What cannot be written does not disturb the program:
// it is said when that has ended.
class drain_while_running {
 public:
  explicit drain_while_running(trace::recorder& recorder) : recorder_(recorder) {}

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
  void finish() {
    if (failure_ == nullptr) return recorder_.finish();
    std::rethrow_exception(failure_);
  }

 private:
  trace::recorder& recorder_;
  std::chrono::milliseconds pause_{1};
  std::exception_ptr failure_;
};

std::string preloaded(const record_options& options, const std::string& recorder_name,
                      const files::scratch_directory& scratch) {
  std::string value = recorder_name;
  if (options.on == "ashlar") {
    value += fmt::format(":{}", measure::preloadable_name(measure::find_ashlar_library(), scratch));
  } else if (!options.on.empty()) {
    value += fmt::format(
        ":{}",
        measure::preloadable_name(
            measure::find_given_library(fmt::format("--on {}", options.on), options.on), scratch));
  }
  return measure::preload_value(value);
}

// What is to be run, and what that takes. It lives until all is written: signals are kept back as
// long.
class recorded_program {
 public:
  explicit recorded_program(const record_options& options)
      : options_(options),
        program_(measure::find_program(options.command.front())),
        library_(measure::find_record_library()),
        recorder_name_(measure::preloadable_name(library_, scratch_)) {}

  // Effects: runs the program with this recorder, which is told its process first. Where recording
  // fails meanwhile, the program goes on: failure(). Throws: command_error when the program cannot
  // be run.
  measure::child_outcome run(trace::recorder& recorder,
                             const std::function<void(std::uint32_t pid)>& begin);
  // Effects: where there is no result of the program itself, says why. Returns: its wait status.
  // Throws: as fail_beside().
  [[nodiscard]] int end(bool has_result, std::string_view kind,
                        const measure::child_outcome& outcome) const;
  // Why there is not all that the program did; empty: there is.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  [[nodiscard]] std::string why_nothing(const measure::child_outcome& outcome) const;

  const record_options& options_;
  measure::signal_watch watch_;
  files::scratch_directory scratch_;
  std::string program_;
  std::string library_;
  std::string recorder_name_;  // of the library, for the loader
  std::string failure_;
};

measure::child_outcome recorded_program::run(trace::recorder& recorder,
                                             const std::function<void(std::uint32_t pid)>& begin) {
  drain_while_running drain(recorder);
  measure::child_request request;
  request.file = program_;
  request.arguments = options_.command;
  request.environment =
      measure::environment_with({{"LD_PRELOAD", preloaded(options_, recorder_name_, scratch_)},
                                 {trace::spool_variable, recorder.spool_path()}});
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

int recorded_program::end(bool has_result, std::string_view kind,
                          const measure::child_outcome& outcome) const {
  if (has_result) return outcome.wait_status;
  return fail_beside(outcome.wait_status,
                     fmt::format("no {} '{}': {}", kind, options_.output, why_nothing(outcome)));
}

// Returns: what the message of a failure adds.
std::string what_is_kept(const trace_files& files) {
  const std::vector<std::string> parts = files.unfinished();
  if (parts.empty()) return {};
  return fmt::format("; what was recorded before can be read in '{}'{}", parts[0],
                     parts.size() == 1 ? "" : " and the other .part files beside it");
}

// Effects: the traces get their names, and each is told. Throws: command_error.
void commit(trace_files& files, const std::vector<trace::file_recorder::process_result>& results,
            const measure::child_outcome& outcome) {
  for (const auto& result : results) {
    const trace_files::written written =
        files.commit(result.pid, static_cast<std::uint32_t>(outcome.pid));
    if (result.events == 0) {
      fmt::print(stderr, "ashlar: {}: no event: process {} allocated nothing by malloc or new\n",
                 written.path, result.pid);
      continue;
    }
    fmt::print(stderr, "ashlar: {}: {} events of process {} in {} ({:.2f} bytes an event)\n",
               written.path, format_count(result.events), result.pid, format_bytes(written.bytes),
               static_cast<double>(written.bytes) / static_cast<double>(result.events));
  }
}

template <class Results>
bool has_process(const Results& results, const measure::child_outcome& outcome) {
  return std::any_of(results.begin(), results.end(), [&](const auto& r) {
    return r.pid == static_cast<std::uint32_t>(outcome.pid);
  });
}

int record_trace(const record_options& options) {
  trace_files files(options.output);
  recorded_program program(options);
  trace::file_recorder recorder(
      {options.stack_depth, ASHLAR_CLI_VERSION,
       options.stack_depth == 0 ? std::string() : fmt::format("stacks={}", options.stack_depth)},
      [&](std::uint32_t pid) { return files.open(pid); });
  const measure::child_outcome outcome = program.run(recorder, [](std::uint32_t) {});
  if (!program.failure().empty())
    return fail_beside(outcome.wait_status, program.failure() + what_is_kept(files));
  const auto results = recorder.results();
  try {
    commit(files, results, outcome);
  } catch (const command_error& error) {
    return fail_beside(outcome.wait_status, error.what() + what_is_kept(files));
  }
  return program.end(has_process(results, outcome), "trace", outcome);
}

int record_profile(const record_options& options) {
  profile_recording profiles(options.output, std::chrono::seconds(options.profile_seconds));
  recorded_program program(options);
  trace::stream_recorder recorder(
      [&](std::uint32_t pid, trace::event_source& from) { return profiles.open(pid, from); });
  const measure::child_outcome outcome =
      program.run(recorder, [&](std::uint32_t pid) { profiles.begin(pid); });
  const auto unwritten = profiles.finish();
  if (!program.failure().empty()) return fail_beside(outcome.wait_status, program.failure());
  if (!unwritten.empty()) return fail_beside(outcome.wait_status, unwritten);
  const auto& results = profiles.results();
  for (const auto& result : results) {
    fmt::print(stderr, "ashlar: {}: {} births and {} deaths of process {} in {}\n", result.path,
               format_count(result.births), format_count(result.deaths), result.pid,
               format_bytes(result.bytes));
  }
  return program.end(has_process(results, outcome), "profile", outcome);
}

// Effects: runs the program with this process's own standard streams; says on standard error what
// was written. Returns: the program's wait status, for end_like(). Throws: command_error.
int record_command(record_options options) {
  const bool is_profile = options.profile_seconds != 0;
  if (options.output.empty()) options.output = is_profile ? "run.aprof" : "run.atrace";
  return is_profile ? record_profile(options) : record_trace(options);
}

}  // namespace

void add_record(command_parser& to) {
  command& record = to.add({"record", "Write a program's allocations into a trace or a profile",
                            "[OPTIONS] -- PROGRAM [ARGUMENTS...]", record_footer});
  const auto with = std::make_shared<record_options>();
  record.output(with->output, "The trace (default: run.atrace) or profile (run.aprof)");
  const option stacks =
      record.flag_with_value("--stacks", "DEPTH", 16, with->stack_depth,
                             "The calls that led to each block, at most DEPTH (16)");
  record
      .flag_with_value("--profile", "SECONDS", 60, with->profile_seconds,
                       "No trace, but what ashlar profile makes of one; written every SECONDS (60)")
      .within(1, 1'000'000)
      .excludes(stacks);
  record.value("--on", "LIBRARY", with->on,
               "Preload this allocator behind the recorder: ashlar, or a library");
  record.takes_program();
  record.does_as_program([&record, with] {
    with->command = record.program();
    return record_command(*with);
  });
}

}  // namespace ashlar::cli
