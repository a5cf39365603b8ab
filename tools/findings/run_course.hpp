// tools/findings/run_course.hpp: how far a run is, in stretches. Layer: findings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tools/trace/reader.hpp"

namespace ashlar::findings {

/// Cuts a run into stretches of one length, half by time and half by calls of the allocator: so a
/// minute in which a service waits counts, and a million calls in a second do.
class run_course {
 public:
  static constexpr std::size_t stretches = 50;

  run_course(std::pair<std::uint64_t, std::uint64_t> times, std::uint64_t events)
      : first_(times.first),
        length_(static_cast<double>(times.second - std::min(times.first, times.second))),
        events_(std::max<std::uint64_t>(events, 1)) {}
  explicit run_course(const trace::trace_reader& of) : run_course(of.times(), of.events()) {}

  [[nodiscard]] std::uint64_t events() const { return events_; }

  /// Returns: the stretch of the next step, which is at `time`. It never goes back.
  std::size_t next(std::uint64_t time) {
    const double by_calls = static_cast<double>(steps_++) / static_cast<double>(events_);
    const double passed = time > first_ ? static_cast<double>(time - first_) : 0;
    const double by_time = length_ > 0 ? passed / length_ : by_calls;
    const auto at = static_cast<std::size_t>((by_calls + by_time) / 2 * stretches);
    return now_ = std::clamp(at, now_, stretches - 1);
  }

 private:
  std::uint64_t first_;
  double length_;
  std::uint64_t events_;
  std::uint64_t steps_ = 0;
  std::size_t now_ = 0;
};

}  // namespace ashlar::findings
