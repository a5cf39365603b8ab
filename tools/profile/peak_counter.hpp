// tools/profile/peak_counter.hpp: of each interval of sizes, the most blocks alive at one time, in one pass over births
// and deaths of any number. Layer: profile.
//
// Events are gathered into windows of few distinct sizes. Within one, only the intervals of the sizes that occur in it
// are followed, and how far each one rises above what it was at the window's start; then the window is folded into the
// table of all intervals once. docs/decisions/0014 has the cost.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/profile/interval_table.hpp"
#include "tools/profile/size_grid.hpp"

namespace ashlar::profiling {

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

}  // namespace ashlar::profiling
