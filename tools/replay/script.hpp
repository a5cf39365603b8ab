// tools/replay/script.hpp: a trace as what a worker executes: fixed-width operations of each thread. Layer: replay.
// Includes nothing of the project: the worker links no part of it.
//
//   | header, to 4096 bytes | chunk | chunk | ... | thread 0, 1, ... | inspection | chunk numbers of each in turn |
//
// A chunk is room for chunk_operations operations of one thread, whose chunks are read in their order. Both sides are
// one build on one machine: the file lives as long as the command, so it has no version, and numbers lie as in memory.
#pragma once

#include <cstdint>

namespace ashlar::replay {

enum class operation_kind : std::uint8_t {
  allocate,     // malloc
  zeroed,       // calloc
  aligned,      // aligned_alloc
  release,      // free; size: that of the birth
  resize_from,  // size: what the block has had; directly before its `resize`
  resize,       // realloc
  inspect,      // the block lives at the end; size: that of the birth
};

/// Law: a slot's operations have the turns 0, 1, 2, ... in the trace's order, over all threads.
struct operation {
  std::uint32_t slot;
  std::uint32_t turn;
  std::uint32_t size_low;
  std::uint16_t size_high;
  operation_kind kind;
  std::uint8_t alignment_shift;

  [[nodiscard]] std::uint64_t size() const { return std::uint64_t{size_high} << 32 | size_low; }
};
static_assert(sizeof(operation) == 16);

/// No machine has more: a larger request is written as this.
inline constexpr std::uint64_t largest_operation_size = (std::uint64_t{1} << 48) - 1;

inline constexpr std::uint32_t chunk_operations = 4096;
inline constexpr std::uint64_t chunks_at = 4096;
inline constexpr std::uint64_t chunk_bytes = chunk_operations * sizeof(operation);

struct script_header {
  std::uint64_t operations;  // without inspections
  std::uint64_t tables_at;
  std::uint32_t slots;
  std::uint32_t
      threads;  // in the order of their first operations; the entry behind them is the inspection
  std::uint32_t most_threads_at_once;
  std::uint32_t chunks;
};
static_assert(sizeof(script_header) <= chunks_at);

/// A thread begins when those are done that ended before its first operation in the trace.
struct script_thread {
  std::uint64_t operations;
  std::uint64_t first_at;           // how many operations of the trace were before its first
  std::uint64_t ended_at;           // ... before it ended; UINT64_MAX: it did not
  std::uint32_t first_chunk_entry;  // of the chunk numbers
  std::uint32_t number;             // in the trace
};

}  // namespace ashlar::replay
