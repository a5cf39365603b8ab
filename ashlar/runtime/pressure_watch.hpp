// runtime/pressure_watch.hpp: whether a control group's figures say that memory is short.
// Layer: runtime.
#pragma once

#include <cstdint>

#include <ashlar/os/memory_pressure.hpp>

namespace ashlar::runtime {

/// Compares a group's figures with those before. Memory is short when less than a sixteenth of the limit
/// is left, when the group came to its limit since the last look, or when a task of it waited for memory
/// for a tenth of that time.
class pressure_watch {
 public:
  static constexpr std::uint64_t part_left = 16;
  static constexpr std::uint64_t part_stalled = 10;

  /// Returns: whether memory is short. The first figures say it by what is left alone.
  [[nodiscard]] bool is_short(const os::memory_pressure& now, std::uint64_t now_ms) noexcept {
    const bool full = now.used_bytes > now.limit_bytes - now.limit_bytes / part_left;
    const std::uint64_t passed_us = (now_ms - before_ms_) * 1'000;
    const bool worse =
        knows_before_ && (now.limit_hits > before_.limit_hits ||
                          (now.stalled_us > before_.stalled_us &&
                           now.stalled_us - before_.stalled_us >= passed_us / part_stalled));
    before_ = now;
    before_ms_ = now_ms;
    knows_before_ = true;
    return full || worse;
  }

 private:
  os::memory_pressure before_;
  std::uint64_t before_ms_ = 0;
  bool knows_before_ = false;
};

}  // namespace ashlar::runtime
