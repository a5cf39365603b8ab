// tools/cli/replay_command.cpp. Layer: cli.
#include "tools/cli/replay_command.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/progress_line.hpp"
#include "tools/cli/replaced_files.hpp"
#include "tools/cli/replay_report.hpp"
#include "tools/json/text.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::cli {

namespace {

// Thrown where a signal ends the command while it reads the trace: nothing was measured, so there is nothing to report.
struct interrupted {
  int signal;
};

replay_script make_script(const std::string& trace, replay::script_order order,
                          std::uint64_t largest, const scratch_directory& scratch,
                          const signal_watch& watch, bool warn) {
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
                     const signal_watch& watch) {
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
  scratch_directory scratch_;
  std::vector<replay_script> made_;
  std::vector<const replay_script*> of_target_;
};

int status_of(const replay_report& report) {
  if (report.stopped_by != 0) return 128 + report.stopped_by;
  const bool any_failed = std::any_of(report.outcomes.begin(), report.outcomes.end(),
                                      [](const replay_outcome& o) { return o.faults.any(); });
  return any_failed ? status_failed : 0;
}

}  // namespace

int replay_command(const replay_options& options) try {
  if (options.touch != "ends" && options.touch != "all")
    throw command_error(status_usage,
                        fmt::format("--touch {}: there are ends and all", options.touch));
  const signal_watch watch;
  std::vector<replay_target> targets = find_replay_targets(options.on, watch);
  std::vector<std::string> inputs{options.trace};
  for (const replay_target& each : targets) inputs.push_back(each.pools ? each.name : each.library);
  replaced_files files(std::move(inputs));
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

  std::fputs(render_replay(report, reader_glyphs()).c_str(), stdout);
  std::fflush(stdout);
  if (options.json_path.empty()) return status_of(report);
  return files.commit_beside(status_of(report),
                             {json_files::text_of(replay_json(report), 1) + "\n"});
} catch (const interrupted& by) {
  fmt::print(stderr, "ashlar: ended early by {}: nothing was measured\n", signal_name(by.signal));
  return 128 + by.signal;
}

}  // namespace ashlar::cli
