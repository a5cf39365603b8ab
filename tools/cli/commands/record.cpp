// tools/cli/commands/record.cpp: `ashlar record`: a program's allocations into a trace or a
// profile. Layer: cli.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/profile_recording.hpp"
#include "tools/cli/recorded_program.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/cli/trace_names.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/trace/file_recorder.hpp"
#include "tools/trace/stream_recorder.hpp"

namespace ashlar::cli {
namespace {

struct record_options {
  std::vector<std::string> command;
  std::string output;                 // empty: run.atrace; of a profile run.aprof
  std::uint32_t stack_depth = 0;      // 0: no stacks
  bool symbols = false;               // the names of the calls go into the trace
  std::uint32_t profile_seconds = 0;  // 0: a trace; otherwise a profile, written so often
  std::string on;  // "ashlar", a library, or empty: what the program uses by itself
};

constexpr std::uint32_t most_calls = 64;  // of a stack

constexpr const char* record_footer =
    R"(The program's standard streams are its own; what was written is said on standard error. Each process
that the program forks has a trace of its own: run.PID.atrace.

Examples:
  ashlar record -- python3 work.py
  ashlar record -o parser.atrace --stacks -- ./parser big.json
  ashlar record --symbols -o to_send.atrace -- ./parser big.json
  ashlar record --on ashlar -- ./server --once
  ashlar record --profile=600 -o server.aprof -- ./server

Exit status: the program's; where a signal killed it, ashlar dies by that signal, too, and the trace is
there. 1 where the program's is 0 and it was not recorded, or the trace could not be written in the end.)";

// Returns: what the message of a failure adds.
std::string what_is_kept(const trace_files& files) {
  const std::vector<std::string> parts = files.unfinished();
  if (parts.empty()) return {};
  return fmt::format("; what was recorded before can be read in '{}'{}", parts[0],
                     parts.size() == 1 ? "" : " and the other .part files beside it");
}

// Effects: the traces get their names, and each is told. Returns: those that have events. Throws:
// command_error.
std::vector<std::string> commit(trace_files& files,
                                const std::vector<trace::file_recorder::process_result>& results,
                                const measure::child_outcome& outcome) {
  std::vector<std::string> with_events;
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
    with_events.push_back(written.path);
  }
  return with_events;
}

int record_trace(const record_options& options) {
  trace_files files(options.output);
  recorded_program program(options.command, options.on);
  trace::file_recorder recorder(
      {options.stack_depth, ASHLAR_CLI_VERSION,
       options.stack_depth == 0 ? std::string() : fmt::format("stacks={}", options.stack_depth),
       files.recording()},
      [&](std::uint32_t pid) { return files.open(pid); });
  const measure::child_outcome outcome = program.run(recorder, [](std::uint32_t) {});
  if (!program.failure().empty())
    return fail_beside(outcome.wait_status, program.failure() + what_is_kept(files));
  const auto results = recorder.results();
  try {
    for (const std::string& trace : commit(files, results, outcome))
      if (options.symbols) put_names_into(trace, trace);
  } catch (const command_error& error) {
    return fail_beside(outcome.wait_status, error.what() + what_is_kept(files));
  }
  return program.end(has_process(results, outcome), fmt::format("trace '{}'", options.output),
                     outcome);
}

int record_profile(const record_options& options) {
  profile_recording profiles(options.output, std::chrono::seconds(options.profile_seconds));
  recorded_program program(options.command, options.on);
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
  return program.end(has_process(results, outcome), fmt::format("profile '{}'", options.output),
                     outcome);
}

// Effects: runs the program with this process's own standard streams; says on standard error what
// was written. Returns: the program's wait status, for end_like(). Throws: command_error.
int record_command(record_options options) {
  const bool is_profile = options.profile_seconds != 0;
  if (options.symbols && options.stack_depth == 0) options.stack_depth = most_calls;
  if (options.output.empty()) options.output = is_profile ? "run.aprof" : "run.atrace";
  return is_profile ? record_profile(options) : record_trace(options);
}

}  // namespace

void add_record(command_parser& to) {
  command& record = to.add({"record", "Write a program's allocations into a trace or a profile",
                            "[OPTIONS] -- PROGRAM [ARGUMENTS...]", record_footer});
  const auto with = std::make_shared<record_options>();
  record.output(with->output, "The trace (default: run.atrace) or profile (run.aprof)");
  const option stacks = record.flag_with_value(
      "--stacks", "DEPTH", most_calls, with->stack_depth,
      "The calls that led to each block, at most DEPTH (64, which is the most)");
  const option symbols = record.flag(
      "--symbols", with->symbols,
      "Put the names of these calls into the trace, as ashlar symbols does; implies --stacks");
  record
      .flag_with_value("--profile", "SECONDS", 60, with->profile_seconds,
                       "No trace, but what ashlar profile makes of one; written every SECONDS (60)")
      .within(1, 1'000'000)
      .excludes(stacks)
      .excludes(symbols);
  record.value("--on", "LIBRARY", with->on,
               "Preload this allocator behind the recorder: ashlar, or a library");
  record.takes_program();
  record.does_as_program([&record, with] {
    with->command = record.program();
    return record_command(*with);
  });
}

}  // namespace ashlar::cli
