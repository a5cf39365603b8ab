// tools/profile/heap_counter.hpp: how many blocks of each heap size a run has: at its peak, and over time. Layer: profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/profile/profile.hpp"
#include "tools/profile/size_grid.hpp"
#include "tools/profile/wide.hpp"

namespace ashlar::profiling {

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

}  // namespace ashlar::profiling
