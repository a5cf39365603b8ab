// tools/shim/chunks.cpp. Layer: shim.
#include "tools/shim/chunks.hpp"

#include "tools/shim/recording.hpp"

namespace ashlar::shim {

using trace::chunk_state;

namespace {

/// Effects: waits while there is too much that the recorder has not fetched. Returns: false when it has gone.
bool recorder_keeps_up() {
  return recorder_gets_to(
      [] { return the_spool->sealed.load(std::memory_order_acquire) <= trace::backlog_max; });
}

}  // namespace

std::uint32_t take_chunk() {
  if (!recorder_keeps_up()) return trace::chunks_max;
  for (std::uint32_t i = 0; i < trace::chunks_max; ++i) {
    chunk_state expected = chunk_state::free;
    if (the_spool->states[i].load(std::memory_order_relaxed) != expected) continue;
    if (!the_spool->states[i].compare_exchange_strong(expected, chunk_state::taken,
                                                      std::memory_order_acquire))
      continue;
    std::uint32_t known = the_spool->chunks.load(std::memory_order_relaxed);
    while (known <= i &&
           !the_spool->chunks.compare_exchange_weak(known, i + 1, std::memory_order_relaxed)) {
    }
    return i;
  }
  return trace::chunks_max;
}

void begin_chunk(std::uint32_t index, std::uint32_t thread, std::uint32_t system_thread,
                 std::uint32_t sequence, std::uint64_t ticks) {
  trace::chunk_header& header = trace::chunk_of(the_spool, index)->header;
  header.thread = thread;
  header.sequence = sequence;
  header.ticks = ticks;
  header.used.store(0, std::memory_order_relaxed);
  // What a thread does behind the last round of its destructors (the C library frees) goes into a chunk that nobody seals.
  header.system_thread = system_thread;
  header.owner.store(the_process->index + 1, std::memory_order_release);
}

void seal(std::uint32_t index) {
  the_spool->sealed.fetch_add(1, std::memory_order_relaxed);
  the_spool->states[index].store(chunk_state::sealed, std::memory_order_release);
}

}  // namespace ashlar::shim
