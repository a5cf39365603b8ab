// tools/trace/error.hpp: a trace that cannot be read. Layer: trace.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ashlar::trace {

/// what() names the file, the offset and the fault: "run.atrace: at byte 4711: ..."; of a file that cannot be opened only
/// the file and the fault.
struct trace_error : std::runtime_error {
  trace_error(const std::string& file, const std::string& fault)
      : std::runtime_error(file + ": " + fault) {}
  trace_error(const std::string& file, std::uint64_t at_byte, const std::string& fault)
      : std::runtime_error(file + ": at byte " + std::to_string(at_byte) + ": " + fault),
        offset(at_byte) {}
  std::uint64_t offset = 0;
};

}  // namespace ashlar::trace
