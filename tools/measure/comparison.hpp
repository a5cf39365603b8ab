// tools/measure/comparison.hpp: one program on several allocators: how its runs are measured, what
// is quoted of them, and the files that have them. Layer: measure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/measure/allocator_list.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/measure/rounds.hpp"

namespace ashlar::measure {

struct run_sample {
  bool warmup = false;
  std::size_t round = 0;     // warm-up rounds and measured rounds each count from 1
  std::size_t position = 0;  // in the round's order, from 0
  child_outcome outcome;
};

struct allocator_samples {
  allocator which;
  std::vector<run_sample> samples;
  std::string error_output;  // the end of what the first failed run wrote on standard error
};

struct comparison {
  std::string ashlar_version;
  std::string label;  // a short name for the program
  std::vector<std::string> command;
  std::uint64_t seed = 0;
  std::size_t warmup = 0;
  std::size_t rounds = 0;   // asked for
  int expected_status = 0;  // wait status of the baseline's first run: what the others must return
  int interrupted_by = 0;   // the signal that ended the measuring early, or 0
  std::vector<allocator_samples> allocators;  // the first is the baseline
};

// How the runs of a comparison are made, and who is told of them.
struct run_request {
  std::string program;  // the file to execute
  bool show_output = false;
  std::function<void(bool warmup, std::size_t round, const std::string& allocator)> before_run;
  std::function<void(bool warmup, std::size_t round)> after_round;
};

// Effects: runs the program once on every allocator in each round, in an order shuffled anew, and
// adds the samples to `compared`. A signal ends it early. Throws: command_error.
void run_comparison(comparison& compared, const run_request& how, const signal_watch& watch);

// The figures that are quoted of one allocator.
struct allocator_summary {
  std::string name;
  std::size_t runs = 0;         // measured ones, warm-up not counted
  std::size_t failed_runs = 0;  // of all, warm-up included: an other status than expected
  std::string failure;          // how the first failed one ended
  spread wall_seconds;          // of the measured runs; empty where a run failed
  spread cpu_seconds;           // user + system
  spread peak_rss_bytes;

  [[nodiscard]] bool quotable() const { return failed_runs == 0 && runs > 0; }
};

allocator_summary summarise(const comparison& compared, const allocator_samples& samples);

std::vector<allocator_summary> summaries_of(const comparison& compared);

// The medians of the baseline, which is the first; 0 where it failed: there is nothing to relate
// to.
struct base_figures {
  double wall = 0;
  double cpu = 0;
  double rss = 0;
};
base_figures base_of(const std::vector<allocator_summary>& summaries);

nlohmann::json comparison_json(const comparison& compared);

// What comparison_json() says of each allocator, read back. Throws: command_error that names
// `origin`.
struct stored_comparison {
  std::string label;
  std::vector<allocator_summary> allocators;
};
stored_comparison parse_comparison(const std::string& text, const std::string& origin);

}  // namespace ashlar::measure
