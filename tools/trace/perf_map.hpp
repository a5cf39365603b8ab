// tools/trace/perf_map.hpp: the functions that a program made at run time, from the list that it wrote
// for perf(1). Layer: trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tools/trace/format.hpp"

namespace ashlar::trace {

/// Where a process writes its list, as `python3 -X perf` does.
std::string perf_map_path(std::uint64_t pid);

/// A line of the list is "begin bytes name", both numbers hexadecimal. A line that is none is left out.
class perf_map {
 public:
  /// Reads nothing where there is no such file, or it belongs to another user that is not root.
  explicit perf_map(const std::string& path);
  /// Returns: the function whose code is there. Of Python's "py::function:file" it has the file, too.
  /// A list has no lines. Empty: none.
  [[nodiscard]] source_place at(std::uint64_t address) const;

 private:
  struct function {
    std::uint64_t end = 0;
    std::string name;
  };
  std::map<std::uint64_t, function> functions_;  // by begin; what was made there last
};

}  // namespace ashlar::trace
