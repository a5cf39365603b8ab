// tools/tune/live_sizes.hpp: how many blocks of each size a program has: at its peak, and over time. Layer: tune.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ashlar::tune {

/// Requests of one size and alignment.
struct live_size {
  std::uint64_t size = 0;       ///< bytes that were asked for
  std::uint64_t alignment = 0;  ///< 0: none was asked for
  double at_peak = 0;           ///< blocks alive at the first moment when most bytes were
  double mean = 0;  ///< blocks alive, the mean over the time from the first event to the last
  std::uint64_t births = 0;
};

/// Follows one trace. Each call takes O(log sizes).
class live_size_counter {
 public:
  /// `time`: of any unit, never less than before.
  void birth(std::uint64_t time, std::uint64_t size, std::uint64_t alignment);
  /// Requires: a block of this size and alignment lives.
  void death(std::uint64_t time, std::uint64_t size, std::uint64_t alignment);

  /// Returns: all sizes, by size and alignment. The counter is as new afterwards.
  [[nodiscard]] std::vector<live_size> finish();

 private:
  struct line {
    std::uint64_t live = 0;
    std::uint64_t births = 0;
    std::uint64_t at_peak = 0;  // valid when `peak` is the newest
    std::uint64_t peak = 0;     // the peak that at_peak is of; older: `live` has not changed since
    std::uint64_t changed_at = 0;
    double block_time = 0;  // up to changed_at
  };
  line& changing(std::uint64_t time, std::uint64_t size, std::uint64_t alignment);

  std::map<std::pair<std::uint64_t, std::uint64_t>, line> lines_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t peaks_ = 0;  // how many there have been, each higher than the one before
  std::uint64_t begun_at_ = 0;
  std::uint64_t now_ = 0;
  bool begun_ = false;
};

}  // namespace ashlar::tune
