// tools/profile/profile_builder.hpp: one run's births and deaths, in the order of time, as a profile. Layer: profile.
//
// Memory does not grow with the run: some megabytes, whatever it does.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tools/profile/heap_counter.hpp"
#include "tools/profile/peak_counter.hpp"
#include "tools/profile/profile.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::profiling {

/// Not thread-safe.
class profile_builder {
 public:
  /// Requires: ticks_per_second is not 0.
  explicit profile_builder(std::uint64_t ticks_per_second);

  /// Effects: birth(), death(), or a count of what else it is.
  void take(const trace::step& s);

  /// `time`: ticks. `alignment`: a power of two, or 0 (none was asked for).
  void birth(std::uint64_t time, std::uint64_t size, std::uint64_t alignment);
  /// Requires: a block of this size and alignment, which was born then, lives.
  void death(std::uint64_t time, std::uint64_t size, std::uint64_t alignment,
             std::uint64_t born_at);

  /// Returns: the profile of what was taken until now, as of a run that ended here. It may go on afterwards.
  [[nodiscard]] profile snapshot();

 private:
  struct need_figures {
    std::uint64_t births = 0;
    std::uint64_t requested_bytes = 0;
    trace::log_histogram lifetimes{};
  };

  [[nodiscard]] std::size_t binary_digits_of_nanoseconds(std::uint64_t ticks) const;

  std::uint64_t ticks_per_second_;
  // [d]: the fewest ticks that are nanoseconds of d binary digits; UINT64_MAX: none are.
  std::array<std::uint64_t, 65> first_ticks_{};
  std::vector<need_figures> needs_;                                           // by step
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> aligned_;  // smallest sizes
  peak_counter peaks_;
  heap_counter heap_;
  std::uint64_t left_out_ = 0;
  std::uint64_t unknown_deaths_ = 0;
  std::uint64_t missing_deaths_ = 0;
  std::uint64_t lost_events_ = 0;
  std::uint64_t refused_requests_ = 0;
};

/// Effects: reads the trace to its end. Throws: trace::trace_error.
[[nodiscard]] profile profile_of(trace::trace_reader& from);

}  // namespace ashlar::profiling
