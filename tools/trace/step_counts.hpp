// tools/trace/step_counts.hpp: what every account of a trace counts: births, deaths, what lives, and the most that did.
// Layer: trace.
#pragma once

#include <cstdint>
#include <unordered_set>

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

}  // namespace ashlar::trace
