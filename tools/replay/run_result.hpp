// tools/replay/run_result.hpp: what a worker writes on its standard output: this, then `classes` class_result.
// Layer: replay. Includes nothing of the project: the worker links no part of it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace ashlar::replay {

/// What a call is called in a table of latencies.
enum class call : std::uint8_t { malloc_call, calloc_call, aligned_call, realloc_call, free_call };
inline constexpr std::size_t call_count = 5;

/// How many calls took so long: steps of 10 ns up to 160 us, then twice as long each.
class latency_counts {
 public:
  static constexpr std::uint64_t step_ns = 10;
  static constexpr std::size_t steps = 16384;
  static constexpr std::size_t doublings = 40;

  void add(std::uint64_t ns) {
    const std::uint64_t step = ns / step_ns;
    const std::size_t at = step < steps
                               ? static_cast<std::size_t>(step)
                               : steps - 1 + static_cast<std::size_t>(std::bit_width(step / steps));
    ++counts_[at < counts_.size() ? at : counts_.size() - 1];
    ++calls_;
    if (ns > longest_) longest_ = ns;
  }
  void add(const latency_counts& more) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += more.counts_[i];
    calls_ += more.calls_;
    if (more.longest_ > longest_) longest_ = more.longest_;
  }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t longest_ns() const { return longest_; }
  /// Returns: the time that `share` of the calls did not pass, to the step's upper end; 0 where there was no call.
  [[nodiscard]] std::uint64_t percentile_ns(double share) const {
    const double wanted = share * static_cast<double>(calls_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size() && calls_ > 0; ++i) {
      seen += counts_[i];
      if (static_cast<double>(seen) < wanted || seen == 0) continue;
      const std::uint64_t end =
          i < steps ? (i + 1) * step_ns : (step_ns * steps) << (i - steps + 1);
      return end < longest_ ? end : longest_;
    }
    return longest_;
  }
  /// Returns: the average, where the calls beyond that share count as long as the percentile: a
  /// thread that the system stopped is no slow call. 0 where there was no call.
  [[nodiscard]] double bounded_average_ns(double share) const {
    const auto limit = static_cast<double>(percentile_ns(share));
    double total = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const auto begin = static_cast<double>(i < steps ? i : steps << (i - steps)) * step_ns;
      const double middle = i < steps ? begin + step_ns / 2.0 : begin * 1.5;
      total += static_cast<double>(counts_[i]) * (middle < limit ? middle : limit);
    }
    return calls_ == 0 ? 0 : total / static_cast<double>(calls_);
  }

 private:
  std::array<std::uint64_t, steps + doublings> counts_{};
  std::uint64_t calls_ = 0;
  std::uint64_t longest_ = 0;
};

/// Sums over threads.
struct run_counts {
  std::uint64_t operations = 0;
  std::uint64_t failures = 0;   // null for a request
  std::uint64_t corrupted = 0;  // blocks whose bytes were not what was written last
  std::uint64_t not_zero = 0;   // blocks of calloc
  std::uint64_t misaligned = 0;
  std::uint64_t waits = 0;  // for another thread's operation
  std::uint64_t births = 0;
  std::uint64_t requested_bytes = 0;  // of all births; where slack is measured: as these
  std::uint64_t usable_bytes = 0;
};

struct run_result {
  static constexpr std::uint64_t right_mark = 0x31796c7065726c61;
  std::uint64_t mark = 0;
  run_counts counts;
  std::uint64_t wall_ns = 0;
  std::uint64_t user_ns = 0;
  std::uint64_t system_ns = 0;
  std::uint64_t start_rss_bytes = 0;
  std::uint64_t peak_rss_bytes = 0;  // beyond start
  std::uint64_t final_rss_bytes = 0;
  std::uint64_t clock_ns = 0;  // that reading the clock takes, and is in every latency
  // Where slack was measured: when the requested bytes alive were most.
  std::uint64_t peak_requested_bytes = 0;
  std::uint64_t usable_bytes_at_peak = 0;
  // The first block that was not as written: its thread in the trace, how many operations of it were before.
  std::uint32_t bad_thread = 0;
  std::uint32_t has_bad = 0;
  std::uint64_t bad_operation = 0;
  std::uint64_t bad_size = 0;
  std::uint32_t slack_known = 0;
  std::uint32_t classes = 0;
  std::array<latency_counts, call_count> latencies;
};

struct class_result {
  std::uint64_t block_size = 0;
  std::uint64_t alignment = 0;
  std::uint64_t capacity = 0;
  std::uint64_t births = 0;    // requests that have this class
  std::uint64_t failures = 0;  // of them
  std::uint64_t peak = 0;      // blocks of this class in use
  std::uint64_t requested_bytes = 0;
  std::uint64_t served = 0;  // blocks of this class given out
};

}  // namespace ashlar::replay
