// tools/tune/inputs.hpp: the files that something is chosen from: recorded traces, and profiles.
// How they are read, and how what is written says which they were. Layer: tune.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/profile/profile.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::tune {

/// Is told of what, and a share from 0 to 1.
using progress = std::function<void(std::string_view, double)>;

enum class input_kind { trace, profile };

/// What a recording does not have. Where there is any, peaks may have been higher than it shows.
struct recording_gaps {
  std::uint64_t unfinished_runs = 0;   ///< whose traces have no end; of a trace 0 or 1
  std::uint64_t lost_events = 0;       ///< that the recorder had no room for
  std::uint64_t refused_requests = 0;  ///< for which a recorded pool had no block

  friend bool operator==(const recording_gaps&, const recording_gaps&) = default;
};

struct input_identity {
  input_kind kind = input_kind::trace;
  std::string file;
  std::string sha256;
  std::uint64_t births = 0;
  std::uint64_t deaths = 0;
  std::uint64_t left_out = 0;  ///< births of blocks that are larger than asked for, or than any
  std::uint64_t unknown_deaths = 0;  ///< of blocks from before the recording; they change nothing
  recording_gaps gaps;
  std::string warning;  ///< of the gaps, in words; empty: there are none
};

/// Returns: the gaps in words, as "1 run has no end, 7 events were lost"; empty: there are none.
[[nodiscard]] std::string text_of(const recording_gaps& gaps);

/// Returns: what the file's first bytes say. Throws: trace_error where it cannot be read.
[[nodiscard]] input_kind kind_of(const std::string& file);

/// Is given births, and deaths of blocks whose births it was given. Returns: whether this one
/// counts.
using step_taker = std::function<bool(const trace::step&)>;

/// Effects: reads a trace to its end; births that do not count are left out. Throws: trace_error;
/// what `take` throws.
[[nodiscard]] input_identity read_trace(const std::string& file, const step_taker& take,
                                        const progress& tell);

struct profile_input {
  input_identity identity;  ///< of all of it
  profiling::profile runs;
};
/// Throws: trace_error.
[[nodiscard]] profile_input read_profile(const std::string& file);

/// Returns: the SHA-256 of the bytes as 64 hexadecimal digits.
[[nodiscard]] std::string sha256_of(std::string_view bytes);

/// Returns: the inputs as JSON, as a certificate has them.
[[nodiscard]] nlohmann::json inputs_json(const std::vector<input_identity>& inputs);

/// Returns: the inputs as lines of a comment, which begin with `mark`.
[[nodiscard]] std::string inputs_comment(const std::vector<input_identity>& inputs,
                                         const std::string& mark);

}  // namespace ashlar::tune
