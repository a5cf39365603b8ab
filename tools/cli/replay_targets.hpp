// tools/cli/replay_targets.hpp: what `ashlar replay --on` may name. Layer: cli.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/measure/child_process.hpp"
#include "tools/tune/pool_check.hpp"

namespace ashlar::cli {

struct replay_target {
  std::string name;
  std::string library;  // absolute path; empty: the system's own allocator, or pools
  std::optional<tune::pool_configuration> pools;
};

// "all", "system" (or "glibc"), "ashlar", an installed allocator's name, a library, NAME=LIBRARY, or a .json of ashlar
// tune. Returns: each once, in the order named. Throws: command_error.
std::vector<replay_target> find_replay_targets(const std::vector<std::string>& names,
                                               const measure::signal_watch& watch);

// ashlar-replay-worker, or the one for pools: beside this executable as built, else as installed.
// Throws: command_error.
std::string find_replay_worker(bool for_pools);

}  // namespace ashlar::cli
