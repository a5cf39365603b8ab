// tools/trace/step_counts.hpp: what every account of a trace counts: births, deaths, what lives, and the most that did.
// Layer: trace.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tools/trace/lifetimes.hpp"

namespace ashlar::trace {

struct step_counts {
  std::uint64_t births = 0;
  std::uint64_t birth_bytes = 0;
  std::uint64_t deaths = 0;
  std::uint64_t cross_thread_deaths = 0;  ///< by another thread than the birth's
  std::uint64_t lost = 0;                 ///< events
  std::uint64_t refused = 0;              ///< requests for which a recorded pool had no block
  std::uint64_t threads = 0;              ///< that did something
  std::uint64_t live_blocks = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_blocks = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_blocks_time = 0;  ///< when it was reached first
  std::uint64_t peak_bytes_time = 0;

  /// Effects: counts the step. Returns: whether more bytes live than ever before.
  bool count(const step& s) {
    if (s.thread != last_thread_) threads += seen_.insert(s.thread).second ? 1 : 0;
    last_thread_ = s.thread;
    switch (s.happened) {
      case step::what::birth:
        return birth(s);
      case step::what::death:
        ++deaths;
        cross_thread_deaths += s.born_by != s.thread;
        --live_blocks;
        live_bytes -= s.size;
        break;
      case step::what::unknown_death:
        break;
      case step::what::other:
        if (s.kind == event_kind::lost) lost += s.size;
        if (s.kind == event_kind::refused) ++refused;
        break;
    }
    return false;
  }

 private:
  bool birth(const step& s) {
    ++births;
    birth_bytes += s.size;
    live_bytes += s.size;
    if (++live_blocks > peak_blocks) {
      peak_blocks = live_blocks;
      peak_blocks_time = s.time;
    }
    if (live_bytes <= peak_bytes) return false;
    peak_bytes = live_bytes;
    peak_bytes_time = s.time;
    return true;
  }

  std::unordered_set<std::uint32_t> seen_;  // threads
  std::uint32_t last_thread_ = 0;           // 0: none
};

// Blocks that die at once.

/// Finds temporaries. A temporary is a block that its thread frees by the very next call after the one that allocated
/// it: no other allocation, free or realloc of that thread is between the two. What realloc moves is none, because its
/// contents live on.
class temporary_finder {
 public:
  /// Effects: takes note of the step. Returns: whether it ends a temporary. Requires: sees every step.
  bool ends_one(const step& s) {
    if (s.happened == step::what::other) return false;  // no call of the allocator
    std::uint32_t& newest = newest_of(s.thread);
    const bool is_newest = s.happened == step::what::death && newest == s.slot &&
                           s.born_by == s.thread && is_free(s.kind);
    newest = s.happened == step::what::birth ? s.slot : no_slot;
    return is_newest;
  }

 private:
  static bool is_free(event_kind kind) {
    return is_death(kind) && kind != event_kind::from_realloc;
  }
  std::uint32_t& newest_of(std::uint32_t thread) {
    if (last_ == nullptr || thread != last_thread_) {
      last_ = &newest_.try_emplace(thread, no_slot).first->second;
      last_thread_ = thread;
    }
    return *last_;
  }

  std::unordered_map<std::uint32_t, std::uint32_t>
      newest_;                     // by thread: the slot that its last call gave out
  std::uint32_t* last_ = nullptr;  // of last_thread_
  std::uint32_t last_thread_ = 0;
};

// What each call stack held in the course of a run.
//   live bytes  |   /|  /|  /|
//   of a stack  |  / | / | / |          a stretch's figure is the least that lived in it: what is allocated and freed
//               |_/..|/..|/..|__        within a stretch does not count
//                 |    |    |           stretches, all of one length

/// What one stack allocated and held. Memory: an entry for each stretch in which something changed.
class held_course {
 public:
  std::uint64_t births = 0;
  std::uint64_t grown = 0;      ///< of the births: by realloc, from another block
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
      of.grown += s.previous != no_slot ? 1 : 0;
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

// Counts, and what each was when a mark was set.
// A program that grows reaches a new peak with each block: to copy all counts each time would cost more than all else.
// So a mark is a number, and a count remembers by how much it has changed since the mark that it last saw.
// Law: at_mark(i) == now(i) at the last mark().

class marked_counts {
 public:
  explicit marked_counts(std::size_t count) : counts_(count) {}

  /// Effects: there is one count more, which is 0 and was 0 at the mark. Returns: its index.
  std::size_t add_count() {
    counts_.emplace_back();
    return counts_.size() - 1;
  }

  void add(std::size_t i, std::int64_t change) {
    entry& e = counts_[i];
    if (e.mark != mark_) {
      e.mark = mark_;
      e.since = 0;
    }
    e.since += change;
    e.now += change;
  }
  /// O(1).
  void mark() { ++mark_; }

  [[nodiscard]] std::size_t size() const { return counts_.size(); }
  [[nodiscard]] std::int64_t now(std::size_t i) const { return counts_[i].now; }
  [[nodiscard]] std::int64_t at_mark(std::size_t i) const {
    const entry& e = counts_[i];
    return e.mark == mark_ ? e.now - e.since : e.now;
  }

 private:
  struct entry {
    std::int64_t now = 0;
    std::int64_t since = 0;
    std::uint64_t mark = 0;
  };
  std::vector<entry> counts_;
  std::uint64_t mark_ = 0;
};

}  // namespace ashlar::trace
