// tools/tune/input_file.hpp: the files that something is chosen from: recorded traces, and profiles. Layer: tune.
// Includes: trace, profile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/profile/profile.hpp"
#include "tools/trace/lifetimes.hpp"
#include "tools/tune/progress.hpp"

namespace ashlar::tune {

enum class input_kind { trace, profile };

struct input_identity {
  input_kind kind = input_kind::trace;
  std::string file;
  std::string sha256;
  std::uint64_t births = 0;
  std::uint64_t deaths = 0;
  std::uint64_t left_out = 0;  ///< births of blocks that are larger than asked for, or than any
  std::uint64_t unknown_deaths = 0;  ///< of blocks from before the recording; they change nothing
  std::string warning;               ///< what is missing in the input; empty: nothing
};

/// Returns: what the file's first bytes say. Throws: trace_error where it cannot be read.
[[nodiscard]] input_kind kind_of(const std::string& file);

/// Is given births, and deaths of blocks whose births it was given. Returns: whether this one counts.
using step_taker = std::function<bool(const trace::step&)>;

/// Effects: reads a trace to its end; births that do not count are left out. Throws: trace_error; what `take` throws.
[[nodiscard]] input_identity read_trace(const std::string& file, const step_taker& take,
                                        const progress& tell);

struct profile_input {
  input_identity identity;  ///< of all of it
  profiling::profile runs;
};
/// Throws: trace_error.
[[nodiscard]] profile_input read_profile(const std::string& file);

}  // namespace ashlar::tune
