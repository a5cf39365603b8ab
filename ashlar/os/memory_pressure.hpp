// os/memory_pressure.hpp: what the system tells of the memory of the process's control group, and
// whether that memory is short.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar::os {

/// What the system told at one moment; what it does not tell is as here.
struct memory_pressure {
  std::uint64_t used_bytes = 0;
  std::uint64_t limit_bytes = UINT64_MAX;  ///< from here on the group is slowed down or refused
  std::uint64_t limit_hits = 0;            ///< how often it came to a limit, ever
  std::uint64_t stalled_us = 0;            ///< how long a task of it waited for memory, ever
};

/// The group that the process was in when the object was made. Its own files count, not those of
/// the groups around it.
class memory_group {
 public:
  /// Effects: finds the group where systems usually have it. `root` goes in front of every path
  /// that is read, for tests. O(1) small files. Keeps errno; allocates nothing.
  explicit memory_group(const char* root = "") noexcept;

  /// Effects: fills `out` with what can be read. Returns: false when nothing can.
  [[nodiscard]] bool read(memory_pressure& out) const noexcept;

 private:
  enum class version : std::uint8_t { none, one, two };
  static constexpr std::size_t path_max = 512;

  [[nodiscard]] bool settle_on(const char* root, const char* mount, const char* group,
                               version found) noexcept;
  /// Returns: whether the group's file could be read into `text`, ended by a zero byte.
  [[nodiscard]] bool read_file(const char* name, char* text, std::size_t capacity) const noexcept;
  void read_number(const char* name, std::uint64_t& value) const noexcept;

  version version_ = version::none;
  char folder_[path_max] = {};
};

/// Compares a group's figures with those before. Memory is short when less than a sixteenth of the
/// limit is left, when the group came to its limit since the last look, or when a task of it waited
/// for memory for a tenth of that time.
class pressure_watch {
 public:
  static constexpr std::uint64_t part_left = 16;
  static constexpr std::uint64_t part_stalled = 10;

  /// Returns: whether memory is short. The first figures say it by what is left alone.
  [[nodiscard]] bool is_short(const memory_pressure& now, std::uint64_t now_ms) noexcept {
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
  memory_pressure before_;
  std::uint64_t before_ms_ = 0;
  bool knows_before_ = false;
};

}  // namespace ashlar::os
