// tools/trace/held_over_time.hpp: what each call stack held in the course of a run. Layer: trace.
//
//   live bytes  |   /|  /|  /|
//   of a stack  |  / | / | / |          a stretch's figure is the least that lived in it: what is allocated and freed
//               |_/..|/..|/..|__        within a stretch does not count
//                 |    |    |           stretches, all of one length
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ashlar::trace {

/// What one stack held. Memory: an entry for each stretch in which something changed.
class held_course {
 public:
  /// Effects: in this stretch, `bytes` live from now on. Requires: stretches do not go back.
  void change(std::size_t stretch, std::uint64_t bytes) {
    entry& e = at(stretch);
    e.least = std::min(e.least, bytes);
    e.last = bytes;
  }
  /// The same where a realloc takes a block away. Nearly always it gives another one at once, so this is no low.
  void begin_realloc(std::size_t stretch, std::uint64_t bytes) { at(stretch).last = bytes; }
  /// Returns: the fewest bytes that lived in each of the first `count` stretches.
  [[nodiscard]] std::vector<std::uint64_t> least(std::size_t count) const {
    std::vector<std::uint64_t> all(count);
    std::size_t next = 0;
    std::uint64_t held = 0;
    for (std::size_t stretch = 0; stretch < count; ++stretch) {
      all[stretch] = held;
      if (next == entries_.size() || entries_[next].stretch != stretch) continue;
      all[stretch] = entries_[next].least;
      held = entries_[next++].last;
    }
    return all;
  }

 private:
  struct entry {
    std::uint32_t stretch = 0;
    std::uint64_t least = 0;
    std::uint64_t last = 0;  // what lived at its end
  };
  entry& at(std::size_t stretch) {
    const std::uint64_t held = entries_.empty() ? 0 : entries_.back().last;
    if (entries_.empty() || entries_.back().stretch != stretch)
      entries_.push_back({static_cast<std::uint32_t>(stretch), held, held});
    return entries_.back();
  }

  std::vector<entry> entries_;  // by stretch
};

/// What all stacks held. The run, from its first event to its last one, is cut into stretches.
struct held_over_time {
  static constexpr std::size_t stretches = 64;

  std::uint64_t stretch_ticks = 0;  ///< the length of each
  std::array<std::uint64_t, stretches> births{};
  std::unordered_map<std::uint32_t, held_course> by_stack;
};

}  // namespace ashlar::trace
