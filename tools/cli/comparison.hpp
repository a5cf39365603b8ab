// tools/cli/comparison.hpp: the samples of one program on several allocators, and every form in
// which they are shown. Layer: cli.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/cli/allocator_list.hpp"
#include "tools/cli/child_process.hpp"
#include "tools/cli/sample_statistics.hpp"
#include "tools/cli/text.hpp"

namespace ashlar::cli {

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
  std::string label;  // a short name for the program
  std::vector<std::string> command;
  std::uint64_t seed = 0;
  std::size_t warmup = 0;
  std::size_t rounds = 0;   // asked for
  int expected_status = 0;  // wait status of the baseline's first run: what the others must return
  int interrupted_by = 0;   // the signal that ended the measuring early, or 0
  std::vector<allocator_samples> allocators;  // the first is the baseline
};

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

// The table, with notes on failed runs and on an early end.
std::string render_comparison(const comparison& compared, glyphs set);

nlohmann::json comparison_json(const comparison& compared);
std::string comparison_csv(const comparison& compared);

// What comparison_json() says of each allocator, read back. Throws: command_error that names
// `origin`.
struct stored_comparison {
  std::string label;
  std::vector<allocator_summary> allocators;
};
stored_comparison parse_comparison(const std::string& text, const std::string& origin);

// One table over several programs. A program's baseline is its first allocator.
std::string render_summary(const std::vector<stored_comparison>& programs, glyphs set);

}  // namespace ashlar::cli
