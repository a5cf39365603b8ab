// tools/profile/profile.hpp: what a tuner needs to know of runs, however many: a value of a bounded size. Layer: profile.
//
// All is whole numbers. Those that say how much there was at one time are maxima over the runs, the others sums; both
// are associative and commutative, and so is merge(). The sums saturate: at most 2^64 - 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/trace/summary.hpp"

namespace ashlar::profiling {

// A number for each interval first..last of some things in a row.
//   at      0..0 0..1 0..2   1..1 1..2   2..2        a row for each first, all rows one behind the other

class interval_table {
 public:
  interval_table() = default;
  /// All are 0.
  explicit interval_table(std::size_t count) : count_(count), numbers_(count * (count + 1) / 2) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Requires: first <= last < count().
  [[nodiscard]] std::uint32_t at(std::size_t first, std::size_t last) const noexcept {
    return numbers_[place(first, last)];
  }
  [[nodiscard]] std::uint32_t& at(std::size_t first, std::size_t last) noexcept {
    return numbers_[place(first, last)];
  }

  friend bool operator==(const interval_table&, const interval_table&) = default;

 private:
  [[nodiscard]] std::size_t place(std::size_t first, std::size_t last) const noexcept {
    return first * (2 * count_ - first + 1) / 2 + (last - first);
  }

  std::size_t count_ = 0;
  std::vector<std::uint32_t> numbers_;
};

/// Requests with one need of the pool grid.
struct pool_row {
  std::uint32_t step = 0;             ///< place in pool_grid
  std::uint64_t births = 0;           ///< at least 1
  std::uint64_t requested_bytes = 0;  ///< of all births
  /// Of those that died: how long they lived, in nanoseconds, by powers of two (trace::log_histogram).
  trace::log_histogram lifetimes{};

  friend bool operator==(const pool_row&, const pool_row&) = default;
};

/// Requests with one alignment above 1 and one need.
struct aligned_row {
  std::uint64_t alignment = 0;  ///< that was asked for: 2 at least
  std::uint32_t step = 0;       ///< place in pool_grid
  std::uint64_t smallest = 0;   ///< bytes of the smallest such request

  friend bool operator==(const aligned_row&, const aligned_row&) = default;
};

/// Alive at one time.
struct alive {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  ///< that were asked for

  friend bool operator==(const alive&, const alive&) = default;
};

/// Requests that one block size of a heap serves best.
struct heap_row {
  std::uint32_t step =
      0;  ///< place in heap_grid of the size that was asked for, whatever the alignment
  std::uint64_t alignment = 0;  ///< above 16; 0: any up to 16
  std::uint64_t births = 0;     ///< at least 1
  alive at_peak;  ///< at the first moment of a run when most bytes were; of all runs together
  /// The mean over the time from a run's first birth to its last birth or death, in 1/1024; of all runs together. Of each
  /// run blocks are rounded up and bytes down, so that what is between them is never below 0.
  alive mean_1024;

  friend bool operator==(const heap_row&, const heap_row&) = default;
};

struct profile {
  std::uint64_t runs = 0;
  std::uint64_t unfinished_runs = 0;  ///< of these: whose traces have no end
  std::uint64_t nanoseconds =
      0;  ///< from a run's first birth to its last birth or death, of all together
  std::uint64_t left_out =
      0;  ///< requests that no pool serves (pool_grid::serves): they are nowhere else
  std::uint64_t unknown_deaths = 0;  ///< of blocks from before the recording; they change nothing
  std::uint64_t missing_deaths = 0;  ///< whose blocks died when their addresses were born again
  std::uint64_t lost_events = 0;     ///< that the recorder had no room for
  std::uint64_t refused_requests =
      0;  ///< for which a recorded pool had no block; more may be needed than is counted
  std::uint64_t peak_bytes = 0;  ///< the most bytes alive at one time of one run

  std::vector<pool_row> pools;  ///< by step
  interval_table peaks;  ///< of places in `pools`: the most blocks alive at one time of one run
  std::vector<aligned_row> aligned;  ///< by alignment, then step
  std::vector<heap_row> heap;        ///< by step, then alignment

  /// All of pools.
  [[nodiscard]] std::uint64_t births() const noexcept;
  [[nodiscard]] std::uint64_t deaths() const noexcept;
  [[nodiscard]] std::uint64_t peak_blocks() const noexcept {
    return peaks.count() == 0 ? 0 : peaks.at(0, peaks.count() - 1);
  }

  /// Returns: the most blocks alive at one time of one run, of needs whose steps are first to last; 0 where there are
  /// none, and where first > last. O(log needs).
  [[nodiscard]] std::uint32_t peak_between(std::uint32_t first_step,
                                           std::uint32_t last_step) const noexcept;

  friend bool operator==(const profile&, const profile&) = default;
};

/// Effects: `into` is of the runs of both. An empty profile changes nothing. O(needs^2) for the needs of both.
void merge(profile& into, const profile& other);

}  // namespace ashlar::profiling
