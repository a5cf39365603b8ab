// tools/cli/call_times.hpp: how long calls of an allocator take in a replay, here and now.
// Layer: cli.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tools/cli/replay_runs.hpp"
#include "tools/findings/finding.hpp"
#include "tools/replay/script_builder.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::cli {

// Of one call on the average, in ns. 0: there was no such call.
struct call_times {
  double allocate = 0;  // malloc, calloc, aligned_alloc
  double resize = 0;
  double release = 0;
  std::uint64_t calls = 0;  // that were replayed
  std::string machine;      // its processor; empty: not known
};

// Returns: what the calls take that the finding's change saves, in ms.
double milliseconds_saved(const findings::finding& of, const call_times& times);

// Takes the first part of a trace, and replays it. Not thread-safe.
class call_timer {
 public:
  call_timer();  // throws: command_error
  // Requires: each step of the trace, in order. Throws: command_error.
  void count(const trace::step& s);
  // Effects: replays what was counted on the system's allocator, three times; the fastest counts.
  // Returns: none where that is not possible. Requires: called once. Throws: command_error with
  // status 128 + n when signal n ends it early.
  std::optional<call_times> measure();

 private:
  files::scratch_directory scratch_;
  replay_script script_;
  replay::script_builder builder_;
  std::uint64_t calls_ = 0;
  std::uint64_t live_bytes_ = 0;
  bool is_full_ = false;
};

// The times as a sentence; empty where there are none.
std::string sentence_of(const std::optional<call_times>& times);
nlohmann::json call_times_json(const std::optional<call_times>& times);

}  // namespace ashlar::cli
