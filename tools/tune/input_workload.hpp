// tools/tune/input_workload.hpp: recorded traces and profiles as a workload. Layer: tune. Includes: trace, profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tune/input_file.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::tune {

/// Returns: the option's and the certificate's word for it, and back. Throws: std::out_of_range for another word.
[[nodiscard]] std::string word_of(resolution sizes);
[[nodiscard]] resolution resolution_of(const std::string& word);

struct input_request {
  std::uint64_t least_alignment = 16;
  /// Bytes; larger requests are left out, at a profile's resolution those that need more.
  std::uint64_t largest = workload_builder::largest_size;
  resolution sizes = resolution::exact;
  /// Of a profile: it is compared with exact sizes all the same (profile_limit).
  bool largest_is_of_exact_sizes = false;
  workload_builder::keep kept = workload_builder::keep::needs;
};

struct input_workload {
  workload load;
  std::vector<input_identity> inputs;
};

/// Returns: whether a profile is among the files. Throws: trace_error where one cannot be read.
[[nodiscard]] bool has_profile(const std::vector<std::string>& files);

/// Throws: trace_error where a file cannot be read; impossible (tuning.hpp) for a request that no pool can serve, and for
/// a profile where the sizes are to be exact.
[[nodiscard]] input_workload read_inputs(const std::vector<std::string>& files,
                                         const input_request& request, const progress& tell = {});

}  // namespace ashlar::tune
