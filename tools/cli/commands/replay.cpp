// tools/cli/commands/replay.cpp: `ashlar replay`: a trace again, on any allocator or on pools.
// Layer: cli.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/replay_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::cli {
namespace {

struct replay_options {
  std::string trace;
  std::vector<std::string> on{"ashlar"};
  std::size_t rounds = 3;
  std::string touch = "ends";
  std::optional<std::uint64_t> seed;
  std::string json_path;
};

constexpr const char* replay_footer =
    R"(It runs the events of a trace again on each of the allocators named, in rounds: time and
memory, then latencies, then slack (what blocks have beyond their requests). What is written into a
block is checked when it dies. On pools (the .json of ashlar tune) the threads' events are one
sequence, in the trace's order.

Examples:
  ashlar replay run.atrace
  ashlar replay run.atrace --on all -n 5 --json=replay.json
  ashlar replay run.atrace --on system,mimalloc,./libmine.so --touch all
  ashlar replay run.atrace --on pools.json

Exit status: 0; 1 where a request got no block, a block was not as written, an allocator broke the
worker, or FILE could not be written in the end; 2 the trace or an allocator cannot be read;
128 + N ended by signal N.)";

// Thrown where a signal ends the command while it reads the trace: nothing was measured, so there
// is nothing to report.
struct interrupted {
  int signal;
};

replay_script make_script(const std::string& trace, replay::script_order order,
                          std::uint64_t largest, const files::scratch_directory& scratch,
                          const measure::signal_watch& watch, bool warn) {
  replay_script made{scratch.make_unnamed_file(), {}};
  trace::trace_reader reader(trace::open_file_source(trace));
  if (warn && !reader.warning().empty()) fmt::print(stderr, "ashlar: {}\n", reader.warning());
  progress_line line;
  replay::script_builder builder(made.file.descriptor(), order, largest);
  try {
    made.summary = replay::write_script(reader, builder, [&](double share) {
      if (const int signal = watch.fetch_pending(); signal != 0) throw interrupted{signal};
      line.tell("reading " + trace, share);
    });
  } catch (const std::system_error& error) {
    throw command_error(status_failed, error.what());
  }
  return made;
}

// One for all allocators; one for each configuration of pools, which may leave large requests out.
class scripts_of_targets {
 public:
  // Throws: interrupted.
  scripts_of_targets(const std::string& trace, const std::vector<replay_target>& targets,
                     const measure::signal_watch& watch) {
    made_.reserve(targets.size());  // pointers into it stay
    const replay_script* for_allocators = nullptr;
    for (const replay_target& target : targets) {
      if (!target.pools && for_allocators != nullptr) {
        of_target_.push_back(for_allocators);
        continue;
      }
      made_.push_back(target.pools ? make_script(trace, replay::script_order::one_sequence,
                                                 target.pools->read_as.largest, scratch_, watch,
                                                 made_.empty())
                                   : make_script(trace, replay::script_order::by_thread, UINT64_MAX,
                                                 scratch_, watch, made_.empty()));
      of_target_.push_back(&made_.back());
      if (!target.pools) for_allocators = &made_.back();
    }
  }
  [[nodiscard]] const std::vector<const replay_script*>& of_target() const { return of_target_; }

 private:
  files::scratch_directory scratch_;
  std::vector<replay_script> made_;
  std::vector<const replay_script*> of_target_;
};

int status_of(const replay_report& report) {
  if (report.stopped_by != 0) return 128 + report.stopped_by;
  const bool any_failed =
      std::ranges::any_of(report.outcomes, [](const replay_outcome& o) { return o.faults.any(); });
  return any_failed ? status_failed : 0;
}

// Effects: prints the tables. Returns: 0; 1 where a request got no block, a block was not as
// written or a worker failed; 128 + n when signal n ended it early. Throws: command_error,
// trace::trace_error.
int replay_command(const replay_options& options) try {
  const measure::signal_watch watch;
  std::vector<replay_target> targets = find_replay_targets(options.on, watch);
  std::vector<std::string> inputs{options.trace};
  for (const replay_target& each : targets) inputs.push_back(each.pools ? each.name : each.library);
  files::replaced_files files(std::move(inputs));
  if (!options.json_path.empty()) files.prepare("--json", options.json_path);

  replay_report report;
  report.trace = options.trace;
  report.plan = {options.rounds, options.touch == "all",
                 options.seed ? *options.seed : std::random_device{}()};
  const scripts_of_targets scripts(options.trace, targets, watch);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    replay_outcome& outcome = report.outcomes.emplace_back();
    outcome.target = std::move(targets[i]);
    outcome.script = scripts.of_target()[i]->summary;
  }
  report.stopped_by = run_replays(report.plan, scripts.of_target(), report.outcomes, watch);

  print_beside(files, render_replay(report, reader_glyphs()));
  if (options.json_path.empty()) return status_of(report);
  return files.commit_beside(status_of(report), {files::json_text(replay_json(report), 1) + "\n"});
} catch (const interrupted& by) {
  fmt::print(stderr, "ashlar: ended early by {}: nothing was measured\n",
             measure::signal_name(by.signal));
  return 128 + by.signal;
}

}  // namespace

void add_replay(command_parser& to) {
  command& replay = to.add(
      {"replay", "Run a trace again, on allocators or pools", "[OPTIONS] TRACE", replay_footer});
  const auto with = std::make_shared<replay_options>();
  replay.argument("TRACE", with->trace, "What ashlar record wrote");
  replay
      .value("--on", "WHAT", with->on,
             "all, system, ashlar, an installed allocator, a library, NAME=LIBRARY, or the "
             ".json of ashlar tune (default ashlar)")
      .separated_by_commas();
  add_rounds(replay, with->rounds, "Timed runs on each (default 3)");
  replay.value("--touch", "ends|all", with->touch,
               "What is written into a block and checked: its ends (default), or all of it");
  add_seed(replay, with->seed, "Decides the order of runs (default: a random one)");
  replay.json(with->json_path, "All of it as JSON, on standard output or into FILE");
  replay.does([with] { return replay_command(*with); });
}

}  // namespace ashlar::cli
