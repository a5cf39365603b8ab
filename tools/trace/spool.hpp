// tools/trace/spool.hpp: what lies between a program that is recorded and its recorder: memory that both have mapped.
// Layer: trace. Freestanding but for atomics: the shim includes it.
//
//   [ spool: clock, stop, heartbeat, processes, a state for each chunk ] [ chunk 0 ] [ chunk 1 ] ...
//   chunk: [ chunk_header | record | record | ... ]
//
// A thread fills a chunk alone and seals it; the recorder takes sealed chunks and frees them. So a program writes 16
// bytes an event into memory that it has had before, and makes no system call. What a process that was killed had
// written is still there: the recorder takes unsealed chunks of processes that are gone.
//
// Laws: a chunk's records below `used` are whole. Only its owner goes from taken to sealed, only the recorder from there
// to free, and from taken to free where the owner has ended. A thread's chunks are numbered 0, 1, ..., and it seals one before it takes the next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tools/trace/event.hpp"

namespace ashlar::trace {

inline constexpr const char* spool_variable =
    "ASHLAR_RECORD";  // the path of the memory's descriptor

/// A tick is so many cycles of the processor's clock, or nanoseconds where there is none: 2 to that power.
inline constexpr unsigned tick_shift = 5;
enum class spool_clock : std::uint32_t { processor, monotonic };

/// kind << 56 | address or another number of 56 bits.
struct spool_record {
  std::uint64_t what = 0;
  std::uint32_t ticks = 0;  // the low half
  std::uint32_t number = 0;
};
static_assert(sizeof(spool_record) == 16);

/// Kinds beside those of event_kind. Those with `bytes` are followed by that many bytes, up to a whole record.
enum class spool_kind : std::uint8_t {
  time = 64,          // 56 bits: the next record's time in full
  size = 65,          // 56 bits: the next record's size
  alignment = 66,     // 56 bits: the next record's alignment
  stack = 67,         // number: the next record's stack
  text = 68,          // number: bytes; of the next record
  define_stack = 69,  // 56 bits: the stack's number; number: bytes, of its frames
  define_module =
      70,  // number: bytes: begin, end, bias (8 bytes each), length of the build id (1), that, path
  memory = 71,  // 56 bits: the time; number: bytes: resident and peak (8 bytes each), map_entry ...
  mapping = 72,  // 56 bits: the address; number: bytes: size, time, stack or 0 (8 bytes each)
};

inline constexpr std::uint32_t chunk_bytes = 256u << 10;
inline constexpr std::uint32_t chunks_max = 8192;
inline constexpr std::uint32_t processes_max = 16384;
inline constexpr std::size_t only_bytes = 4096;
/// So many sealed chunks wait for the recorder, then the program waits for it: 64 MiB.
inline constexpr std::uint32_t backlog_max = 256;

struct chunk_header {
  /// Index of the process + 1; 0: nobody's yet. Stored last: who sees it sees the rest.
  std::atomic<std::uint32_t> owner;
  std::uint32_t
      thread;  // 0: the description of a process: path '\0' argument '\0' argument '\0' ...
  std::uint32_t sequence;
  std::atomic<std::uint32_t> used;  // records; of a description: bytes
  std::uint64_t ticks;              // not after the first record
  std::uint32_t system_thread;      // its number with the system: tells whether it is still there
  std::uint32_t unused_half;
  std::uint64_t unused[4];
};
static_assert(sizeof(chunk_header) == 64);

struct chunk {
  static constexpr std::uint32_t records_max =
      (chunk_bytes - sizeof(chunk_header)) / sizeof(spool_record);
  chunk_header header;
  spool_record records[records_max];
};
static_assert(sizeof(chunk) == chunk_bytes);

enum class chunk_state : std::uint32_t { free, taken, sealed };

/// A process that a recorder wants to look at waits when it exits.
enum class process_end : std::uint32_t { running, waits, goes_on };

struct spool_process {
  std::uint32_t pid;  // stored last: who sees it sees the parents and the time, too
  std::uint32_t
      parent;  // of a forked process: index of the one it came from, + 1; 0: it has a description
  std::uint32_t system_parent;  // the number of the process that was its parent when it began
  std::atomic<std::uint32_t> is_skipped;  // spool::only has another name: it tells no events
  std::uint64_t begin_ticks;
  std::atomic<std::uint64_t> exit_ticks;  // of exit() or _exit(); 0: neither was called
  std::atomic<std::int32_t> exit_status;  // where exit_ticks is not 0
  std::atomic<std::uint32_t> threads;
  std::atomic<std::uint32_t>
      lost;  // events for which there was no chunk, and no later place to say so
  std::atomic<std::uint64_t> stack_at_end;  // of the thread that waits: where it is in use
  std::atomic<process_end> end;
  std::atomic<std::uint64_t> memory_seen;  // bytes in memory when the recorder looked at all of it
};

struct spool {
  static constexpr std::uint64_t magic_value = 0x3830'6c6f'6f70'7341;
  std::uint64_t magic;
  std::uint64_t start_ticks;
  spool_clock clock;
  std::uint32_t stack_depth;  // 0: no stacks
  std::atomic<std::uint32_t> stop;
  std::atomic<std::uint32_t> heartbeat;  // changes while there is a recorder
  std::atomic<std::uint32_t> sealed;     // how many chunks are
  std::atomic<std::uint32_t> chunks;     // no chunk from there on was ever taken
  std::atomic<std::uint32_t> processes_count;
  std::atomic<std::uint32_t> written;  // all that was taken is in its file
  std::uint32_t looks_at_ends;  // whether processes wait at their exit, until they were looked at
  /// Names of programs, each ended by '\0': only these are recorded. Empty: all are.
  char only[only_bytes];
  spool_process processes[processes_max];
  std::atomic<chunk_state> states[chunks_max];
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<chunk_state>::is_always_lock_free &&
              std::atomic<process_end>::is_always_lock_free);

inline constexpr std::size_t chunks_at =
    (sizeof(spool) + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
inline constexpr std::size_t spool_bytes = chunks_at + std::size_t{chunks_max} * chunk_bytes;

inline chunk* chunk_of(spool* s, std::uint32_t index) {
  return reinterpret_cast<chunk*>(reinterpret_cast<char*>(s) + chunks_at) + index;
}
/// How many records hold so many bytes.
constexpr std::uint32_t records_for(std::uint32_t bytes) {
  return (bytes + std::uint32_t{sizeof(spool_record)} - 1) / std::uint32_t{sizeof(spool_record)};
}

}  // namespace ashlar::trace
