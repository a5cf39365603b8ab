// tools/profile/profile_builder.hpp: one run's births and deaths, in the order of time, as a profile. Layer: profile.
//
// Memory does not grow with the run: some megabytes, whatever it does.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tools/profile/profile.hpp"
#include "tools/profile/size_grid.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::profiling {

// How many blocks of each heap size a run has: at its peak, and over time.

/// Follows one run. Each call is O(1).
class heap_counter {
 public:
  /// Requires: pool_grid::serves(size, alignment). `time`: of any unit; one before the last counts as the last.
  void birth(std::uint64_t time, std::uint64_t size, std::uint64_t alignment);
  /// Requires: a block of this size and alignment lives.
  void death(std::uint64_t time, std::uint64_t size, std::uint64_t alignment);

  /// Returns: what the run was up to its last event: by step, then alignment. O(heap_grid::count).
  [[nodiscard]] std::vector<heap_row> rows() const;
  [[nodiscard]] std::uint64_t peak_bytes() const noexcept { return peak_bytes_; }
  /// Between the first and the last event.
  [[nodiscard]] std::uint64_t duration() const noexcept { return now_ - begun_at_; }

 private:
  struct line {
    alive now;
    alive at_peak;           // valid when `peak` is the newest
    std::uint64_t peak = 0;  // the peak that at_peak is of; older: `now` has not changed since
    std::uint64_t births = 0;
    std::uint64_t changed_at = 0;
    wide block_time = 0;  // blocks * time, up to changed_at
    wide byte_time = 0;
  };
  static constexpr std::size_t alignments = 21;  // none, 32 ... 2^20, at their logarithms

  line& changing(std::uint64_t time, std::uint64_t size, std::uint64_t alignment);

  std::array<std::vector<line>, alignments> lines_;  // by alignment, then step; empty: not used yet
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t peaks_ = 0;  // how many there have been, each higher than the one before
  std::uint64_t begun_at_ = 0;
  std::uint64_t now_ = 0;
  bool begun_ = false;
};

// Of each interval of sizes, the most blocks alive at one time, in one pass over births
// and deaths of any number.
// Events are gathered into windows of few distinct sizes. Within one, only the intervals of the sizes that occur in it
// are followed, and how far each one rises above what it was at the window's start; then the window is folded into the
// table of all intervals once. docs/decisions/0014 has the cost.

class peak_counter {
 public:
  static constexpr std::size_t steps = pool_grid::count;
  /// A window ends before it has more distinct sizes than this, or more events.
  struct window_limits {
    std::size_t sizes = window_sizes;
    std::size_t events = window_events;
  };
  static constexpr std::size_t window_sizes = 64;
  static constexpr std::size_t window_events = 1024;

  peak_counter() : peak_counter(window_limits{}) {}
  /// Requires: 1 to window_sizes, 1 to window_events. The peaks are the same with any.
  explicit peak_counter(window_limits limits);

  /// Requires: step < steps.
  void birth(std::uint32_t step) { add(step, false); }
  /// Requires: step < steps; a block of it lives.
  void death(std::uint32_t step) { add(step, true); }

  struct result {
    std::vector<std::uint32_t> used;  ///< the steps that had a birth, ascending
    interval_table peaks;             ///< of the intervals of places in `used`
  };
  /// Returns: the peaks until now. O(steps^2).
  [[nodiscard]] result snapshot();

 private:
  struct window_rises {
    std::size_t count = 0;                          // of sizes
    std::array<std::size_t, window_sizes> sizes{};  // steps, ascending
    std::array<std::int16_t, window_sizes> above{};
  };
  void add(std::uint32_t step, bool is_death);
  void fold();
  [[nodiscard]] window_rises rises_in_window();
  void begin_using(const window_rises& found);

  window_limits limits_;
  std::vector<std::uint16_t> window_;  // 2 * step, + 1: a death
  std::bitset<steps> in_window_;
  std::size_t sizes_in_window_ = 0;
  std::bitset<steps> used_;
  std::size_t used_end_ = 0;         // behind the largest of them
  std::vector<std::int32_t> alive_;  // by step, at the window's start
  std::vector<std::int32_t>
      most_;  // steps x steps; row i is of intervals from i; rows of used steps only, up to used_end_
  std::vector<std::int16_t> rises_;  // window_sizes x window_sizes, of places in the window
};

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
