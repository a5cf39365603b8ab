// tools/trace/memory_looks.hpp: looks at the memory of a process that is recorded, from outside.
// Layer: trace.
//
//   resident    |        /\        a sample is two numbers of /proc/PID/statm, some 10 us of the
//               |    _/``  \_      recorder's time; what lies where takes it longer
//               |_/``      |       (/proc/PID/smaps), so it asks only where there is more than
//                 1 2  3 4 5       before: at 1 to 4, the growth of which decides
//
// The process itself does nothing for it, but at its end (tools/shim/process_exit.cpp): so one
// that closes itself into a sandbox, or never calls malloc, is looked at as well.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/trace/format.hpp"

namespace ashlar::trace {

class memory_map;

/// Returns: what a table of a process's memory says. `peak`: 0 where nobody knows it.
memory_look look_of(const memory_map& map, std::uint64_t time, std::uint64_t peak);

/// Of one image of a process: what was seen, and what of it is not written yet. It keeps few looks
/// with mappings, and of the samples those that differ from the one before. Not thread-safe.
class memory_looks {
 public:
  /// Effects: looks at the process. `time`: now. `seen`: becomes the bytes of the last look with
  /// mappings. Where the system does not show the process, nothing happens.
  void look(std::uint32_t pid, std::uint64_t time, std::atomic<std::uint64_t>& seen);
  /// Effects: takes a look that the process had at itself.
  void add(memory_look look);
  /// Returns: what is to be written now. `is_end`: nothing follows.
  std::vector<memory_look> take(bool is_end);

 private:
  using clock = std::chrono::steady_clock;

  bool is_due(std::uint64_t resident, clock::duration passed) const;
  void add_sample(std::uint64_t time, std::uint64_t resident, std::uint64_t peak);
  /// Returns: false where that is not the process, or cannot be seen.
  bool look_at_mappings(std::uint32_t pid, std::uint64_t time);

  static constexpr unsigned tries_max = 3;

  unsigned tries_ = 0;         // looks in which the recorder's memory was not found
  bool is_known_ = false;      // it was: this is the process
  std::uint64_t sampled_ = 0;  // by the last look with mappings, as a sample says it
  std::uint64_t before_ = 0;   // what the sample before said
  clock::time_point begun_;
  clock::duration spent_{};
  std::vector<memory_look> samples_;
  std::uint64_t last_sample_ = 0;
  std::optional<memory_look> most_;  // with mappings, not written
  std::uint64_t written_most_ = 0;
};

}  // namespace ashlar::trace
