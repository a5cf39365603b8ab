// tools/trace/resident_memory.hpp: what a process had in memory when it had most, and whose it was.
// Layer: trace.
//
//   peak      |######################################|??|   ??: between two looks
//   resident  |## malloc ##|# files #|#|## other ##|##|
//             | live |beyond|         stacks         the recorder's own
//
// Laws: resident = malloc + the sum of all parts. peak >= resident.
//
// A mapping is malloc's where its blocks lie, or lay before: in stretches of 64 KiB. What is
// resident beyond these stretches is another part's, also where the system has joined both to one
// mapping. With stacks, that is divided among the lines that mapped it.
//
// Blocks may be freed between the peak and the look, and malloc keeps their memory. So of the time
// since a look saw less, the moment counts when most bytes lived.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/trace/lifetimes.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::trace {

struct resident_part {
  memory_kind kind{};
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t stack = 0;  ///< that mapped it; 0: not known
};

struct resident_memory {
  std::uint64_t peak = 0;      ///< bytes, as the system says it; 0: nobody looked
  std::uint64_t resident = 0;  ///< in the look that saw most; 0: none saw the mappings
  std::uint64_t time = 0;      ///< when most bytes lived, since a look saw less
  std::uint64_t malloc = 0;    ///< in memory, of what malloc has
  std::uint64_t live = 0;      ///< bytes of blocks at that time, also without memory
  std::uint64_t rounding = 0;  ///< what they take beyond these in glibc's malloc; of another: 0
  std::vector<resident_part>
      parts;  ///< what else is: the largest first, each kind, name and stack once

  [[nodiscard]] std::uint64_t beyond_live() const {
    return malloc - (live < malloc ? live : malloc);
  }
  [[nodiscard]] std::uint64_t not_in_memory() const {
    return live - (live < malloc ? live : malloc);
  }
};

/// Returns: what glibc's malloc takes beyond a block's size. Its note of 8 bytes stands before the block,
/// for most alignments in another page. Measured: 8 KiB for 4 KiB at 4 KiB, and for 100 bytes at 64 KiB.
constexpr std::uint64_t rounding_of_glibc(std::uint64_t size, std::uint64_t alignment) {
  constexpr std::uint64_t page = 4096, least = 32, plain = 16;
  if (alignment <= plain) return std::max(least, (size + 8 + plain - 1) / plain * plain) - size;
  const std::uint64_t unit = std::min(alignment, page);
  return (size + plain + unit - 1) / unit * unit - size + (alignment > page ? page : 0);
}

/// Returns: whether the C library's malloc served the program, as far as the trace tells.
[[nodiscard]] bool is_served_by_glibc(const trace_reader& from);

/// Returns: the most that the process had in memory, but for the recorder's own; 0: nobody looked.
[[nodiscard]] std::uint64_t most_in_memory(const trace_reader& from);

/// Finds it in a pass over the trace.
class resident_counter {
 public:
  explicit resident_counter(const trace_reader& from);
  /// Whether the C library's malloc served the program.
  [[nodiscard]] bool is_glibc() const { return is_glibc_; }
  /// Effects: counts the step. Requires: all steps come, in their order.
  void count(const step& s) {
    if (is_over_) return;
    if (s.time > look_time_) {
      is_over_ = true;
    } else if (s.happened == step::what::birth) {
      live_ += s.size;
      rounding_ += rounding_of(s);
      cover(s.address, s.size);
      if (live_ > found_.live) note(s.time);
    } else if (s.happened == step::what::death) {
      live_ -= s.size;
      rounding_ -= rounding_of(s);
      if (s.time <= less_time_) note(s.time);
    } else if (s.kind == event_kind::image) {
      forget(s.time);
    }
  }
  /// Requires: it is called once, behind all steps.
  [[nodiscard]] resident_memory finish();

 private:
  /// An anonymous mapping.
  struct place {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t stretch = 0;  // bytes
    std::uint64_t covered = 0;  // stretches
    std::vector<bool> has_blocks;
    const mapped_memory* of = nullptr;
  };
  void cover(std::uint64_t address, std::uint64_t size) {
    if (now_ == nullptr || address - now_->begin >= now_->end - now_->begin) {
      now_ = place_of(address);
      if (now_ == nullptr) return;
    }
    place& p = *now_;
    const std::uint64_t first = (address - p.begin) / p.stretch;
    if (size <= p.stretch / 2 && p.has_blocks[static_cast<std::size_t>(first)]) return;
    cover_all(p, address, size);
  }
  place* place_of(std::uint64_t address);
  static void cover_all(place& p, std::uint64_t address, std::uint64_t size);
  void forget(std::uint64_t time);
  void note(std::uint64_t time) {
    found_.live = live_;
    found_.rounding = rounding_;
    found_.time = time;
  }
  [[nodiscard]] std::map<std::uint64_t, own_mapping> mapped_then() const;
  [[nodiscard]] std::uint64_t rounding_of(const step& s) const {
    return is_glibc_ ? rounding_of_glibc(s.size, s.alignment) : 0;
  }

  const trace_reader& from_;
  std::uint64_t image_time_ = 0;  // what was mapped before is gone

  resident_memory found_;
  const memory_look* look_ = nullptr;
  std::uint64_t look_time_ = 0;
  std::uint64_t less_time_ = 0;  // of the last look before it that saw less
  bool is_over_ = true;
  bool is_glibc_;
  std::uint64_t live_ = 0, rounding_ = 0;
  std::vector<place> places_;  // by address
  place* now_ = nullptr;
};

}  // namespace ashlar::trace
