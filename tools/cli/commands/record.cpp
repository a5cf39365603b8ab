// tools/cli/commands/record.cpp: `ashlar record`: a program's allocations into a trace. Layer: cli.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include "tools/cli/chosen_trace.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/recorded_program.hpp"
#include "tools/cli/recording_index.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/cli/trace_report.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/trace/file_recorder.hpp"
#include "tools/trace/process_memory.hpp"
#include "tools/trace/resident_memory.hpp"

namespace ashlar::cli {
namespace {

constexpr std::uint32_t most_calls = 64;  // of a stack
constexpr const char* default_folder = "run.atree";
constexpr std::size_t lines_told = 3;

struct record_options {
  std::vector<std::string> command;
  std::string output;             // empty: run.atrace
  bool is_named = true;           // by -o
  std::uint32_t stack_depth = 0;  // 0: no stacks
  bool no_stacks = false;
  bool symbols = false;           // the names of the calls go into the trace
  std::string on;                 // "ashlar", a library, or empty: what the program uses by itself
  std::vector<std::string> only;  // programs; empty: all
  std::optional<std::uint64_t> pid;  // of a process that runs already
  std::uint32_t seconds = 0;         // for which that is recorded; 0: until it or a signal ends it
};

constexpr const char* record_footer =
    R"(The program's standard streams are its own. Standard error has what was written, and the answer: what
the process had in memory at its peak, the lines that held most of it, what it lost. Each process that the
program starts has a trace of its own. Where there is more than one, all are in a folder run.atree with an
index, which report and leaks --trace read. -o NAME.atrace writes files instead: NAME.PID.atrace.

Examples:
  ashlar record -- python3 work.py
  ashlar record -o build.atree -- make
  ashlar record --only cc1plus -- g++ -O2 -c parser.cpp
  ashlar record -o parser.atrace -- ./parser big.json
  ashlar record --no-stacks -o jobs.atrace -- ./jobs      for ashlar tune and ashlar replay
  ashlar record --symbols -o to_send.atrace -- ./parser big.json
  ashlar record --on ashlar -- ./server --once
  ashlar record -p $(pidof server) --seconds 30 -o server.atrace

Exit status: the program's; where a signal killed it, ashlar dies by that signal, too, and the trace is
there. 1 where the program's is 0 and it was not recorded, or the trace could not be written in the end.)";

// Returns: what the message of a failure adds.
std::string what_is_kept(const trace_files& files) {
  const std::vector<std::string> parts = files.unfinished();
  if (parts.empty()) return {};
  return fmt::format("; what was recorded before can be read in '{}'{}", parts[0],
                     parts.size() == 1 ? "" : " and the other .part files beside it");
}

// Effects: the traces get their names. Unless `tells` says otherwise each of the few with the most
// events is told; the others, and those with less than a hundredth of the events, of a launcher as a
// rule, are one line. Returns: those that have events, that with most memory first. Throws: command_error.
std::vector<std::string> commit(trace_files& files,
                                const std::vector<trace::file_recorder::process_result>& results,
                                const measure::child_outcome& outcome, bool tells = true) {
  std::multimap<std::pair<std::uint64_t, std::uint64_t>, std::string, std::greater<>> with_events;
  constexpr std::size_t told_most = 4;
  std::uint64_t all_events = 0;
  std::vector<std::uint64_t> counts;
  for (const auto& result : results) {
    all_events += result.events;
    counts.push_back(result.events);
  }
  std::ranges::sort(counts, std::greater());
  const std::uint64_t least =
      std::max(all_events / 100, counts.size() > told_most ? counts[told_most - 1] : 0);
  std::size_t told = 0;
  std::size_t small = 0;
  for (const auto& result : results) {
    const trace_files::written written =
        files.commit(result.pid, static_cast<std::uint32_t>(outcome.pid));
    if (result.events != 0) {
      const trace::trace_reader reader(trace::open_file_source(written.path));
      with_events.emplace(std::pair(trace::most_in_memory(reader), result.events), written.path);
    }
    if (!tells) continue;
    if (result.events < least || told == told_most) {
      ++small;
      continue;
    }
    ++told;
    if (result.events == 0) {
      fmt::print(stderr, "ashlar: {}: no event: process {} allocated nothing by malloc or new\n",
                 written.path, result.pid);
      continue;
    }
    fmt::print(stderr, "ashlar: {}: {} events of process {} in {} ({:.2f} bytes an event)\n",
               written.path, format_count(result.events), result.pid, format_bytes(written.bytes),
               static_cast<double>(written.bytes) / static_cast<double>(result.events));
  }
  if (small != 0)
    fmt::print(stderr, "ashlar: and {} more process{} with a trace beside it\n",
               format_count(small), small == 1 ? "," : "es, each");
  std::vector<std::string> paths;
  for (auto& [events, path] : with_events) paths.push_back(path);
  return paths;
}

trace::recording_options recording_with(const record_options& options, const trace_files& files) {
  std::vector<std::string> words;
  if (options.stack_depth != 0) words.push_back(fmt::format("stacks={}", options.stack_depth));
  // How sizes are rounded, is a matter of the allocator that serves the program.
  const char* const preloaded = std::getenv("LD_PRELOAD");
  if (!options.on.empty())
    words.push_back("on=" + options.on);
  else if (preloaded != nullptr && *preloaded != '\0')
    words.push_back(fmt::format("on={}", preloaded));
  return {options.stack_depth, ASHLAR_CLI_VERSION, fmt::format("{}", fmt::join(words, " ")),
          files.recording()};
}

// Effects: says how the recording of a process that ran already ended.
void tell_end(const record_options& options, const attached_program::outcome& outcome) {
  if (!outcome.left.empty())
    fmt::print(stderr,
               "ashlar: process {} goes on, and its calls still pass the recorder, which does "
               "nothing: {}\n",
               *options.pid, outcome.left);
  else if (outcome.goes_on)
    fmt::print(stderr,
               "ashlar: process {} goes on as before; one of its threads stood still for {:.1f} ms "
               "at most\n",
               *options.pid, outcome.pause_ms);
  else
    fmt::print(stderr, "ashlar: process {} has ended\n", *options.pid);
}

// Returns: the exit status.
int record_running(const record_options& options) {
  const auto pid = static_cast<std::uint32_t>(*options.pid);
  trace_files files(options.output);
  attached_program program(static_cast<pid_t>(pid), options.output);
  trace::recording_options recording = recording_with(options, files);
  recording.memory = program.memory();
  recording.attached_to = pid;
  trace::file_recorder recorder(recording, [&](std::uint32_t of) { return files.open(of); });
  std::optional<std::chrono::seconds> longest;
  if (options.seconds != 0) longest = std::chrono::seconds(options.seconds);
  const attached_program::outcome outcome = program.run(recorder, longest);
  if (!outcome.failure.empty())
    throw command_error(status_failed, outcome.failure + what_is_kept(files));
  measure::child_outcome attached;
  attached.pid = static_cast<pid_t>(pid);
  const auto results = recorder.results();
  // Where the process calls for its recording, it learns of the end by what the call returns.
  const bool tells = !program.is_writer_of_process();
  if (tells) tell_end(options, outcome);
  for (const std::string& trace : commit(files, results, attached, tells))
    if (options.symbols) put_names_into(trace, trace);
  recorder.tell_written();
  return 0;
}

// Returns: what is known of the processes before their traces are read.
recording_index index_of(trace::file_recorder& recorder, const record_options& options,
                         const std::string& recording, std::uint64_t started,
                         const measure::child_outcome& outcome) {
  const auto seconds = [&](std::uint64_t ticks) {
    return static_cast<double>(ticks) / static_cast<double>(recorder.ticks_per_second());
  };
  recording_index index;
  index.ashlar = ASHLAR_CLI_VERSION;
  index.recording = recording;
  index.started = started;
  index.command = options.command;
  index.seconds = outcome.wall_seconds;
  const trace::memory_together& most = recorder.tree().most();
  index.memory = {seconds(most.time), most.of.size(), most.resident, most.proportional, {}, {}};
  for (const auto& [time, bytes] : recorder.tree().over_time()) {
    index.memory.at_seconds.push_back(seconds(time));
    index.memory.proportional_over_time.push_back(bytes);
  }
  for (const trace::process_history& history : recorder.histories()) {
    recorded_process p;
    p.pid = history.pid;
    p.parent = history.parent;
    for (const auto& image : history.images)
      p.images.push_back({image.path, words_of_arguments(image.arguments)});
    p.begin_seconds = seconds(history.begin);
    if (history.end) p.end_seconds = seconds(*history.end);
    p.exit_status = history.exit_status;
    p.is_recorded = history.is_recorded;
    if (const auto share = most.of.find(history.pid); share != most.of.end())
      p.proportional_bytes = share->second;
    if (history.pid == static_cast<std::uint32_t>(outcome.pid)) {
      const int status = outcome.wait_status;
      p.exit_status = WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
      if (WIFSIGNALED(status)) p.signal = WTERMSIG(status);
    }
    index.seconds = std::max(index.seconds, p.end_seconds.value_or(p.begin_seconds));
    index.processes.push_back(std::move(p));
  }
  return index;
}

// Effects: says which processes go on, as a daemon does, that nobody records any more.
void tell_running(trace::recorder& recorder) {
  std::vector<std::string> names;
  for (const trace::process_history& history : recorder.histories()) {
    if (history.end || !history.is_recorded) continue;
    const auto mappings = trace::mappings_of(static_cast<pid_t>(history.pid));
    if (mappings && !mappings->empty())  // what has ended and nobody waited for has none
      names.push_back(fmt::format("process {} ({})", history.pid, history.images.back().path));
  }
  if (names.empty()) return;
  fmt::print(stderr,
             "ashlar: {}{} still run{}, recorded up to here: keep a daemon in the foreground to "
             "record all of it\n",
             printable(names.front()),
             names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1),
             names.size() == 1 ? "s" : "");
}

// Returns: the trace of the process that had most memory; empty where there is none.
std::string tell_folder(const std::string& folder, const recording_index& index) {
  std::uint64_t events = 0;
  std::size_t traces = 0;
  for (const recorded_process& p : index.processes) {
    if (p.trace.empty()) continue;
    ++traces;
    events += p.events;
  }
  if (traces == 0) return {};
  const recorded_process* const most = &index.processes[places_by_memory(index).front()];
  fmt::print(stderr, "ashlar: {}: {} events of {}{}; most by {}, process {}\n", folder,
             format_count(events), counted(traces, "process", "es"),
             index.memory.resident_bytes == 0
                 ? ""
                 : fmt::format(", together {} in memory at most",
                               format_bytes(index.memory.proportional_bytes)),
             like_first(index), most->pid);
  return fmt::format("{}/{}", folder, most->trace);
}

// Returns: why `--only` found none; empty where there is another reason.
std::string why_no_process(const record_options& options, const recording_index& index) {
  if (options.only.empty() || index.processes.empty()) return {};
  std::vector<std::string> others;
  for (const recorded_process& p : index.processes)
    if (std::ranges::find(others, p.name()) == others.end()) others.push_back(p.name());
  return fmt::format("no process that --only names ran; these did: {}",
                     printable(fmt::format("{}", fmt::join(others, ", "))));
}

// Effects: says what the process had in memory, what held it, what it lost, and what shows more.
// `written`: the trace, or the folder that has it.
void tell_answer(const std::string& trace, const std::string& written) try {
  const auto reader = open_trace(trace);
  trace::call_names names(*reader);
  const trace_report report =
      make_trace_report(*reader, names, trace, lines_told, 0, [](const trace::step&) {});
  fmt::print(stderr, "{}", render_answer(report));
  tell_missing_names(names.lost(), report.without_lines);
  fmt::print(stderr, "ashlar: next: ashlar report {0}, or with --text; ashlar leaks --trace {0}\n",
             shell_quoted({written}));
} catch (const std::exception& error) {
  fmt::print(stderr, "ashlar: {}\n", reason_of(error));
}

// Effects: runs the program with this process's own standard streams; says on standard error what
// was written. Returns: the program's wait status, for end_like(). Throws: command_error.
int record_traces(const record_options& options) {
  recorded_program program(options.command, options.on);
  std::optional<recording_folder> folder;
  std::optional<trace_files> single;
  trace_files& files = names_folder(options.output) ? folder.emplace(options.output).traces()
                                                    : single.emplace(options.output);
  trace::look_at_exit look;
  if (options.stack_depth != 0)
    look = [&](const trace::exiting_process& process, const std::function<void()>& sign) {
      return search_at_exit(process, files.path_of(process.pid), sign);
    };
  trace::file_recorder recorder(
      recording_with(options, files), [&](std::uint32_t pid) { return files.open(pid); }, look);
  recorder.record_only(options.only);
  recorder.look_at_tree();
  const auto started = static_cast<std::uint64_t>(std::time(nullptr));
  const measure::child_outcome outcome = program.run(recorder, [](std::uint32_t) {});
  const auto kept = [&] {
    if (single) return what_is_kept(files);
    return files.unfinished().empty()
               ? std::string()
               : fmt::format("; what was recorded before can be read in '{}'", folder->path());
  };
  if (!program.failure().empty())
    return fail_beside(outcome.wait_status, program.failure() + kept());
  const auto results = recorder.results();
  std::string most;  // the trace that has most
  try {
    const auto with_events =
        std::ranges::count_if(results, [](const auto& result) { return result.events != 0; });
    if (!folder && !options.is_named && with_events > 1) folder.emplace(default_folder);
    if (folder) {
      recording_index index = index_of(recorder, options, files.recording(), started, outcome);
      if (results.empty()) {
        const std::string why = why_no_process(options, index);
        if (!why.empty()) return fail_beside(outcome.wait_status, why);
        return program.end(false, fmt::format("recording '{}'", options.output), outcome);
      }
      folder->commit(index, files);
      for (const recorded_process& p : index.processes) {
        const std::string trace = fmt::format("{}/{}", folder->path(), p.trace);
        if (options.symbols && p.events != 0) put_names_into(trace, trace);
      }
      most = tell_folder(folder->path(), index);
    } else {
      for (const std::string& trace : commit(files, results, outcome)) {
        if (most.empty()) most = trace;
        if (options.symbols) put_names_into(trace, trace);
      }
    }
  } catch (const std::exception& error) {
    return fail_beside(outcome.wait_status, reason_of(error) + kept());
  }
  tell_running(recorder);
  if (options.stack_depth != 0 && !most.empty()) tell_answer(most, folder ? folder->path() : most);
  if (folder) return outcome.wait_status;
  return program.end(has_process(results, outcome), fmt::format("trace '{}'", options.output),
                     outcome);
}

// Effects: finds out what the words of the line leave open. Throws: command_error.
void complete(record_options& options) {
  if (options.no_stacks)
    options.stack_depth = 0;
  else if (options.stack_depth == 0)
    options.stack_depth = most_calls;
  options.is_named = !options.output.empty();
  if (options.output.empty()) options.output = options.only.empty() ? "run.atrace" : default_folder;
  if (options.output == "-") throw command_error(status_usage, no_trace_beside_program);
  const bool is_tree = names_folder(options.output);
  if (!options.only.empty() && !is_tree)
    throw command_error(status_usage,
                        "--only writes a folder: -o names one by .atree or '/' at its end");
  std::size_t only_bytes = 1;
  for (const std::string& name : options.only) only_bytes += name.size() + 1;
  if (only_bytes > trace::only_bytes)
    throw command_error(
        status_usage, fmt::format("the names of --only are more than {} bytes", trace::only_bytes));
  if (!options.pid && options.seconds != 0)
    throw command_error(status_usage, "--seconds is for a process that runs already: -p PID");
  if (!options.pid) return;
  if (is_tree)
    throw command_error(status_usage, "with -p, -o names a trace: each process has one of its own");
  if (*options.pid == 0 || *options.pid > INT32_MAX)
    throw command_error(
        status_usage,
        fmt::format("{} is no number of a process (pgrep -l NAME tells them)", *options.pid));
}

}  // namespace

void add_record(command_parser& to) {
  command& record = to.add({"record", "Write a program's allocations into a trace",
                            "[OPTIONS] -- PROGRAM [ARGUMENTS...]", record_footer});
  const auto with = std::make_shared<record_options>();
  record.output(with->output,
                "The trace (default: run.atrace; of several processes run.atree), or a folder "
                "NAME.atree");
  const option stacks = record.flag_with_value(
      "--stacks", "DEPTH", most_calls, with->stack_depth,
      "At most DEPTH of the calls that led to each block (default 64, which is the most)");
  const option symbols = record.flag("--symbols", with->symbols,
                                     "Put the names of these calls into the trace, as ashlar "
                                     "export --symbols does");
  record
      .flag("--no-stacks", with->no_stacks,
            "Blocks only: no calls, no search for what is lost, no first report; it costs least")
      .excludes(stacks)
      .excludes(symbols);
  const option only = record
                          .value("--only", "NAME", with->only,
                                 "Record the processes of these programs only, into a folder "
                                 "(default: run.atree); comma separated")
                          .separated_by_commas();
  const option on =
      record.value("--on", "LIBRARY", with->on,
                   "Preload this allocator behind the recorder: ashlar, or a library");
  record
      .value("-p,--pid", "PID", with->pid,
             "Record a process that runs already, until Ctrl-C; it goes on as before")
      .excludes(only)
      .excludes(on);
  record.value("--seconds", "N", with->seconds, "With -p: end the recording after so long")
      .within(1, 1'000'000);
  record.takes_program();
  record.ends([&record, with]() -> command_end {
    if (with->pid && record.has_program())
      throw command_error(status_usage, "-p names a process that runs; a program is one too many");
    if (!with->pid) with->command = record.program();
    complete(*with);
    if (with->pid) return {record_running(*with), {}};
    return {0, record_traces(*with)};
  });
}

}  // namespace ashlar::cli
