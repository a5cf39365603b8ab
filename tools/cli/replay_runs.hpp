// tools/cli/replay_runs.hpp: scripts executed by workers, several times on each target. Layer: cli.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/files/files.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/replay/run_result.hpp"
#include "tools/replay/script_builder.hpp"
#include "tools/tune/pool_check.hpp"

namespace ashlar::cli {

// What `ashlar replay --on` may name.

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

// One pass for the time and the memory.
struct replay_sample {
  double wall_seconds = 0;
  double user_seconds = 0;
  double system_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t final_rss_bytes = 0;
  std::uint64_t waits = 0;
};

// What went wrong, in the pass where it was most.
struct replay_faults {
  std::uint64_t failures = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t not_zero = 0;
  std::uint64_t misaligned = 0;
  std::string first_corrupted;  // where; empty: none
  std::string worker;           // how it ended, where it has no result; and what it said
  [[nodiscard]] bool any() const {
    return failures + corrupted + not_zero + misaligned != 0 || !worker.empty();
  }
};

struct latency_summary {
  std::uint64_t calls = 0;
  double average_ns = 0;  // without the longest ones: latency_counts::bounded_average_ns()
  std::array<std::uint64_t, 5> percentiles_ns{};
  std::uint64_t longest_ns = 0;
};
inline constexpr std::array<double, 5> latency_shares{0.5, 0.9, 0.99, 0.999, 0.9999};

// Bytes of blocks beyond what was asked for.
struct slack_summary {
  bool known = false;
  std::uint64_t requested_bytes = 0;  // of all births
  std::uint64_t usable_bytes = 0;
  std::uint64_t peak_requested_bytes = 0;  // alive, when they were most
  std::uint64_t usable_bytes_at_peak = 0;
};

struct replay_outcome {
  replay_target target;
  replay::script_summary script;
  std::vector<replay_sample> samples;
  std::array<latency_summary, replay::call_count> latencies{};
  std::uint64_t clock_ns = 0;
  slack_summary slack;
  std::vector<replay::class_result> classes;
  replay_faults faults;
};

struct replay_plan {
  std::size_t rounds = 3;
  bool touch_all = false;
  std::uint64_t seed = 0;
};

struct replay_script {
  files::open_file file;
  replay::script_summary summary;
};

// Effects: fills in the outcomes, whose target i executes *scripts[i]: rounds of time passes, in an order shuffled anew
// each time; then a latency pass each, and a slack pass. A target whose worker has failed is left out from then on.
// Returns: 0, or the signal that ended it early.
int run_replays(const replay_plan& plan, const std::vector<const replay_script*>& scripts,
                std::vector<replay_outcome>& outcomes, const measure::signal_watch& watch);

// The same with a latency pass each, and nothing else.
int run_latencies(const std::vector<const replay_script*>& scripts,
                  std::vector<replay_outcome>& outcomes, const measure::signal_watch& watch);

}  // namespace ashlar::cli
