// tools/shim/log.hpp: each thread's events into the spool. Layer: shim.
// Nothing here allocates, or calls what it records. errno is kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include <time.h>

#include "tools/shim/looks.hpp"
#include "tools/trace/spool.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ashlar::shim {

/// Ticks. The processor's counter takes half of what the system's clock takes, and is one for all processors where the
/// recorder chose it.
inline std::uint64_t now(trace::spool_clock clock) {
#if defined(__x86_64__)
  if (clock == trace::spool_clock::processor) {
    // Without the fence the processor reads its counter before what comes first is done, as a block's coming from another
    // thread: then that thread's birth of the block would seem to be later than the death here.
    _mm_lfence();
    return __rdtsc() >> trace::tick_shift;
  }
#endif
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
          static_cast<std::uint64_t>(time.tv_nsec)) >>
         trace::tick_shift;
}

}  // namespace ashlar::shim

namespace ashlar::shim {

/// What a process knows of its recording. It lies in a page that a forked child finds empty, however it was forked, so
/// that a child never writes into its parent's chunks.
struct process_state {
  std::uint32_t generation;  // 0: this process has not begun to record
  std::uint32_t index;       // in the spool's processes
};

struct thread_log {
  trace::spool_record* next = nullptr;
  trace::spool_record* end = nullptr;
  trace::chunk* now = nullptr;
  std::uint64_t ticks = 0;       // of the last record
  std::uint32_t generation = 0;  // of the process that `now` belongs to
  std::uint32_t thread = 0;
  std::uint32_t sequence = 0;
  std::uint32_t index = 0;  // of the chunk
  std::uint32_t system_thread = 0;
  /// While a call of the next allocator runs: what it calls in turn is not the program's.
  bool inside = false;
  void* signal_stack = nullptr;  // as the program gave it to the system, which alone knows it else
};

// Never null again. Chunks that were taken once are never unmapped.
inline trace::spool* the_spool = nullptr;
inline bool recording = false;  // requires the_spool
inline process_state* the_process = nullptr;
[[gnu::tls_model("initial-exec")]] inline constinit thread_local thread_log own_log;

/// Effects: begins to record if the environment says where. Returns: false while there is no environment yet: it has to be
/// called again.
bool open_spool();

/// How a process comes to be recorded.
enum class recording_begin { with_the_program, attached };
/// Effects: enters this process into this memory; record_from_now() follows. Returns: 0, or an error number: EPROTO: the
/// recorder is of another version. Requires: this process is not being recorded.
int begin_recording(const char* spool_path, recording_begin how);
void record_from_now();
/// Effects: nothing more is recorded, and most of the spool's addresses are free. Requires: the_spool.
void end_recording();
/// Returns: whether the recorder shows a sign of life within a moment. Requires: the_spool.
[[nodiscard]] bool has_recorder();

/// Calls `work(context)` while none of our other threads asks the loader for its files.
void with_modules_locked(void (*work)(void*), void* context);
/// Effects: with this thread's next event, the slots of files are diverted that are new then.
void divert_at_next_event();

/// Effects: when the process exits it waits until the recorder has looked at it, if that wants to. What it does behind
/// that is not recorded. Requires: open_spool() was called, and nothing else has a handler of exit() yet.
void wait_at_exit();

/// Effects: makes room for so many records, the first of which may be of this time. Returns: false when there is none; then the event is lost, and counted.
[[gnu::cold]] bool refill(std::uint32_t records, std::uint64_t ticks);

/// Effects: as put(), with what a record has no room for.
[[gnu::noinline]] void put_large(trace::event_kind kind, std::uint64_t address, std::uint64_t ticks,
                                 std::uint64_t size, std::uint64_t alignment, std::uint32_t stack);
/// Returns: the number of the stack of calls from the program's call on. Effects: defines it where it is new, at that
/// time.
[[gnu::noinline]] std::uint32_t stack_here(std::uint64_t ticks);
/// Effects: records what has a text, or another number of 32 bits.
void put_other(trace::event_kind kind, std::uint32_t number, const char* text, std::uint32_t bytes);

/// Effects: the records and the bytes behind them, all or nothing.
void put_records(std::uint64_t ticks, const trace::spool_record* records, std::uint32_t count,
                 const void* bytes = nullptr, std::size_t byte_count = 0);

/// While it lives, none of this library's threads holds a lock that a child would find locked for ever.
class fork_guard {
 public:
  fork_guard();
  /// Effects: its end, in either process.
  void leave(bool is_child);

 private:
  bool holds_ = false;
};

inline std::uint64_t now() { return now(the_spool->clock); }
inline bool is_on() { return recording; }

/// Effects: records one event. Requires: is_on().
inline void put(trace::event_kind kind, const void* block, std::uint64_t ticks, std::size_t size,
                std::size_t alignment = 0) {
  thread_log& l = own_log;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const bool has_stack = the_spool->stack_depth != 0 && trace::is_birth(kind);
  if (size > UINT32_MAX || alignment != 0 || has_stack || ((l.ticks ^ ticks) >> 31) != 0)
      [[unlikely]]
    return put_large(kind, address, ticks, size, alignment, has_stack ? stack_here(ticks) : 0);
  if (l.next == l.end || l.generation != the_process->generation) [[unlikely]] {
    if (!refill(1, ticks)) return;
  }
  *l.next = {static_cast<std::uint64_t>(kind) << 56 | address, static_cast<std::uint32_t>(ticks),
             static_cast<std::uint32_t>(size)};
  ++l.next;
  l.ticks = ticks;
  l.now->header.used.store(static_cast<std::uint32_t>(l.next - l.now->records),
                           std::memory_order_release);
}

/// Effects: records that the block is given back, and what was found out about it. Requires: is_on().
inline void put_death(trace::event_kind kind, const void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  if (the_spool->stack_depth != 0 && watched.has(address)) [[unlikely]]
    put_untouched(address);
  put(kind, block, now(), 0);
}

}  // namespace ashlar::shim
