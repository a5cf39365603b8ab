// tools/cli/replay_options.cpp: the words of `ashlar replay`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/replay_command.hpp"
#include "tools/cli/round_options.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* replay_footer =
    R"(The events of a trace again, on each of the allocators named, in rounds: time and memory, then
latencies, then slack. What is written into a block is checked when it dies. On pools (the
.json of ashlar tune) the threads' events are one sequence, in the trace's order.

Examples:
  ashlar replay run.atrace
  ashlar replay run.atrace --on all -n 5 --json replay.json
  ashlar replay run.atrace --on system,mimalloc,./libmine.so --touch all
  ashlar replay run.atrace --on pools.json

Exit status: 0; 1 where a request got no block, a block was not as written, an allocator broke the
worker, or FILE could not be written in the end; 2 the trace or an allocator cannot be read;
128 + N ended by signal N.)";

}  // namespace

void add_replay(command_parser& to) {
  command& replay =
      to.add({"replay", "A trace again, on allocators or pools", "[OPTIONS] TRACE", replay_footer});
  const auto with = std::make_shared<replay_options>();
  replay.argument("TRACE", with->trace, "What ashlar record wrote");
  replay
      .value("--on", "WHAT", with->on,
             "all, system, ashlar, an installed allocator, a library, NAME=LIBRARY, or the "
             ".json of ashlar tune (default ashlar)")
      .separated_by_commas();
  add_rounds(replay, with->rounds, "For the time, on each (default 3)");
  replay.value("--touch", "WHICH", with->touch,
               "What is written into a block and checked: its ends (default), or all of it");
  add_seed(replay, with->seed, "Of the order (default: a random one)");
  replay.file("--json", with->json_path, "Write all of it as JSON to FILE, too");
  replay.does([with] { return replay_command(*with); });
}

}  // namespace ashlar::cli
