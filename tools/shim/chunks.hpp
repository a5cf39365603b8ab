// tools/shim/chunks.hpp: the spool's chunks, each taken by a thread, filled and sealed. Layer: shim.
#pragma once

#include <cerrno>

#include <ashlar/os/pause.hpp>

#include "tools/shim/log.hpp"

namespace ashlar::shim {

struct errno_kept {
  errno_kept() : value(errno) {}
  ~errno_kept() { errno = value; }
  errno_kept(const errno_kept&) = delete;
  errno_kept& operator=(const errno_kept&) = delete;
  int value;
};

inline void sleep_a_little() { os::pause_us(200); }

/// Effects: waits until `is_done()`. Returns: false when the recorder has gone before that.
template <class IsDone>
bool recorder_gets_to(IsDone is_done) {
  constexpr int patience = 25'000;  // five seconds without a sign of life
  std::uint32_t beat = the_spool->heartbeat.load(std::memory_order_relaxed);
  for (int waited = 0; waited < patience; ++waited) {
    if (the_spool->stop.load(std::memory_order_relaxed) != 0) break;
    if (is_done()) return true;
    sleep_a_little();
    const std::uint32_t now = the_spool->heartbeat.load(std::memory_order_relaxed);
    if (now != beat) waited = 0;
    beat = now;
  }
  the_spool->stop.store(1, std::memory_order_relaxed);
  recording = false;
  return false;
}

/// Returns: a free chunk, taken; chunks_max where there is none. The lowest ones are used again and again: they are in
/// memory, and perhaps in a cache.
std::uint32_t take_chunk();
/// Effects: it is of this thread of this process, and empty. Requires: it is taken.
void begin_chunk(std::uint32_t index, std::uint32_t thread, std::uint32_t system_thread,
                 std::uint32_t sequence, std::uint64_t ticks);
/// Effects: the recorder may fetch it.
void seal(std::uint32_t index);

/// Returns: what stands before an event, or before bytes.
inline trace::spool_record prefix(trace::spool_kind kind, std::uint64_t value,
                                  std::uint32_t number) {
  return {static_cast<std::uint64_t>(kind) << 56 | (value & (~std::uint64_t{0} >> 8)), 0, number};
}

}  // namespace ashlar::shim
