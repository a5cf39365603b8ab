// tools/tune/traced_workload.hpp: recorded traces as a workload. Layer: tune. Includes: trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tune/partition.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::tune {

struct trace_identity {
  std::string file;
  std::string sha256;
  std::uint64_t births = 0;
  std::uint64_t deaths = 0;
  std::uint64_t left_out = 0;        ///< births of blocks that are larger than asked for
  std::uint64_t unknown_deaths = 0;  ///< of blocks from before the recording; they change nothing
  std::string warning;               ///< what is missing in the trace; empty: nothing
};

struct trace_request {
  std::uint64_t least_alignment = 16;
  std::uint64_t largest = workload_builder::largest_size;  ///< bytes; larger requests are left out
  workload_builder::keep kept = workload_builder::keep::needs;
};

struct traced_workload {
  workload load;
  std::vector<trace_identity> traces;
};

/// Throws: trace_error where a trace cannot be read; impossible (tuning.hpp) for a request that no pool can serve.
[[nodiscard]] traced_workload read_traces(const std::vector<std::string>& files,
                                          const trace_request& request, const progress& tell = {});

}  // namespace ashlar::tune
