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

/// The group that the process was in when the object was made, or the nearest around it that knows
/// its memory. But for hard_limit the files of that group alone count.
class memory_group {
 public:
  /// Effects: finds the group where systems usually have it. `root` goes in front of every path
  /// that is read, for tests. O(1) small files. Keeps errno; allocates nothing.
  explicit memory_group(const char* root = "") noexcept;

  /// Effects: fills `out` with what can be read. Returns: false when nothing can.
  [[nodiscard]] bool read(memory_pressure& out) const noexcept;

  /// Returns: the bytes at which the system refuses memory to the group: the least limit of it and
  /// of the groups around it; UINT64_MAX where there is none. O(groups) small files. Keeps errno;
  /// allocates nothing.
  [[nodiscard]] std::uint64_t hard_limit() const noexcept;

 private:
  enum class version : std::uint8_t { none, one, two };
  static constexpr std::size_t path_max = 512;

  [[nodiscard]] bool settle_on(const char* root, const char* mount, const char* group,
                               version found) noexcept;
  /// Effects: this is the group around it. Returns: false at the outermost one, which it stays.
  bool leave() noexcept;
  /// Returns: whether the group's file could be read into `text`, ended by a zero byte.
  [[nodiscard]] bool read_file(const char* name, char* text, std::size_t capacity) const noexcept;
  /// Effects: `value` is the number in the group's file, if there is one.
  void read_number(const char* name, std::uint64_t& value) const noexcept;

  version version_ = version::none;
  std::size_t mount_length_ = 0;  ///< of folder_: where the outermost group is
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
