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
#include <utility>
#include <vector>

#include "tools/trace/lifetimes.hpp"

namespace ashlar::trace {

/// What one stack allocated and held. Memory: an entry for each stretch in which something changed.
class held_course {
 public:
  std::uint64_t births = 0;
  std::uint64_t allocated = 0;  ///< bytes of all births

  /// Returns: what lives now.
  [[nodiscard]] std::uint64_t held() const { return entries_.empty() ? 0 : entries_.back().last; }
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
    if (entries_.empty() || entries_.back().stretch != stretch)
      entries_.push_back({static_cast<std::uint32_t>(stretch), held(), held()});
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

/// Counts steps that somebody else reads. Not thread-safe.
class held_counter {
 public:
  /// `times`: of the first and the last event.
  explicit held_counter(std::pair<std::uint64_t, std::uint64_t> times) : begin_(times.first) {
    all_.stretch_ticks = (times.second - begin_) / held_over_time::stretches + 1;
  }
  /// Requires: each step of the trace, in order.
  void count(const step& s) {
    const std::size_t stretch = stretch_at(s.time);
    if (s.happened == step::what::birth) {
      ++all_.births[stretch];
      if (s.stack == 0) return;
      held_course& of = all_.by_stack[s.stack];
      ++of.births;
      of.allocated += s.size;
      of.change(stretch, of.held() + s.size);
    } else if (s.happened == step::what::death && s.stack != 0) {
      held_course& of = all_.by_stack[s.stack];
      if (s.kind == event_kind::from_realloc)
        of.begin_realloc(stretch, of.held() - s.size);
      else
        of.change(stretch, of.held() - s.size);
    }
  }
  [[nodiscard]] held_over_time& all() { return all_; }

 private:
  // Threads' clocks differ by a little, so times may go back; stretches do not.
  std::size_t stretch_at(std::uint64_t time) {
    if (time < next_) return now_;
    const auto stretch =
        static_cast<std::size_t>((time - std::min(time, begin_)) / all_.stretch_ticks);
    now_ = std::max(now_, std::min(stretch, held_over_time::stretches - 1));
    next_ = begin_ + (now_ + 1) * all_.stretch_ticks;
    return now_;
  }

  held_over_time all_;
  std::uint64_t begin_;
  std::uint64_t next_ = 0;  // when the next stretch begins
  std::size_t now_ = 0;
};

}  // namespace ashlar::trace
