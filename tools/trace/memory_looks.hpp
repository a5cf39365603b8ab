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
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tools/trace/format.hpp"

namespace ashlar::trace {

class memory_map;

/// Returns: what a table of a process's memory says. `peak`: 0 where nobody knows it.
memory_look look_of(const memory_map& map, std::uint64_t time, std::uint64_t peak);

/// Says when a look that takes long is worth its time: at growth that is large, and at less where such
/// looks take little of a processor. Not thread-safe.
class costly_looks {
 public:
  /// `resident`: now. Requires: it is asked at each sample.
  [[nodiscard]] bool is_due(std::uint64_t resident);
  /// Whether they have taken less than this part of a processor so far.
  [[nodiscard]] bool took_less_than(int part) const {
    return spent_ * part < clock::now() - begun_;
  }
  /// Effects: looks; where that returns true, `resident` was seen. The time counts.
  template <class Look>
  void take(std::uint64_t resident, Look look) {
    const std::chrono::nanoseconds before = processor_time();
    if (look()) seen_ = resident;
    spent_ += processor_time() - before;
  }

 private:
  using clock = std::chrono::steady_clock;
  static std::chrono::nanoseconds processor_time();

  std::uint64_t seen_ = 0;    // by the last look
  std::uint64_t before_ = 0;  // what the sample before said
  clock::time_point begun_;
  clock::duration spent_{};
};

/// What the processes of a tree had in memory together, at one moment.
struct memory_together {
  std::uint64_t time = 0;
  std::uint64_t resident = 0;      ///< bytes: the sum of all, so a page of several counts as often
  std::uint64_t proportional = 0;  ///< bytes: each page is divided among all that have it (PSS)
  std::map<std::uint32_t, std::uint64_t> of;  ///< the same of each process, by its number
};

/// Finds the moment when that was most, and what it was over time. It takes the recorder some 5 ms for
/// each GiB. Not thread-safe.
class tree_looks {
 public:
  /// Effects: looks at these processes, if that is worth its time: also where a quarter came or went since
  /// the last look. `resident`: of all of them.
  void look(const std::vector<std::uint32_t>& pids, std::uint64_t resident, std::uint64_t time);
  [[nodiscard]] const memory_together& most() const { return most_; }
  /// Times, and the sums of PSS then.
  [[nodiscard]] const std::vector<std::pair<std::uint64_t, std::uint64_t>>& over_time() const {
    return over_time_;
  }

 private:
  costly_looks looks_;
  std::uint64_t last_ = 0;  // resident
  memory_together most_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> over_time_;
};

/// Of one image of a process: what was seen, and what of it is not written yet. It keeps few looks
/// with mappings, and of the samples those that differ from the one before. Not thread-safe.
class memory_looks {
 public:
  using clock = std::function<std::uint64_t()>;  ///< says the time in ticks
  /// Effects: looks at the process. `seen`: becomes the bytes of the last look with
  /// mappings. Where the system does not show the process, nothing happens. Returns: the bytes that it
  /// has in memory; 0: nobody knows.
  std::uint64_t look(std::uint32_t pid, const clock& now, std::atomic<std::uint64_t>& seen);
  /// Effects: takes a look that the process had at itself.
  void add(memory_look look);
  /// Returns: what is to be written now. `is_end`: nothing follows.
  std::vector<memory_look> take(bool is_end);

 private:
  void add_sample(std::uint64_t time, std::uint64_t resident, std::uint64_t peak);
  /// Returns: false where that is not the process, or cannot be seen.
  bool look_at_mappings(std::uint32_t pid, const clock& now);

  static constexpr unsigned tries_max = 3;

  unsigned tries_ = 0;     // looks in which the recorder's memory was not found
  bool is_known_ = false;  // it was: this is the process
  costly_looks with_mappings_;
  std::vector<memory_look> samples_;
  std::uint64_t last_sample_ = 0;
  std::optional<memory_look> most_;  // with mappings, not written
  std::uint64_t written_most_ = 0;
};

}  // namespace ashlar::trace
