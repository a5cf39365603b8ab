// tools/shim/log.cpp. Layer: shim.
#include "tools/shim/log.hpp"

#include <cstring>
#include <utility>

#include <ashlar/os/process.hpp>

#include "tools/shim/chunks.hpp"
#include "tools/shim/import_slots.hpp"
#include "tools/shim/recording.hpp"

namespace ashlar::shim {

using trace::chunk;
using trace::event_kind;
using trace::spool_kind;
using trace::spool_record;

namespace {

constinit os::thread_end thread_ends;
constinit bool is_told_of_ends = false;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool diverts_next = false;

void end_thread(void*) noexcept {
  // Other destructors may allocate behind this one: each time, what they did is sealed in the next round.
  thread_log& l = own_log;
  if (!is_on() || l.now == nullptr || l.generation != the_process->generation) return;
  put_other(event_kind::thread_exit, 0, nullptr, 0);
  if (l.now == nullptr) return;
  seal(l.index);
  l.now = nullptr;
  l.next = l.end = nullptr;
}

}  // namespace

void watch_ends_of_threads() {
  if (!std::exchange(is_told_of_ends, true)) thread_ends.start(&end_thread);
}

void divert_at_next_event() {
  diverts_next = true;
  own_log.end = own_log.next;  // so that the event asks for room
}

bool refill(std::uint32_t records, std::uint64_t ticks) {
  thread_log& l = own_log;
  if (l.next != nullptr && l.generation == the_process->generation && l.end - l.next >= records)
    return true;
  const errno_kept keep;
  const bool was_inside = l.inside;
  l.inside = true;
  bool done = false;
  if (diverts_next) {
    diverts_next = false;
    divert_slots();
  }
  if (process_is_on()) {
    const bool is_new = l.generation != the_process->generation;
    if (is_new) {
      l = thread_log{};
      l.inside = true;
      l.generation = the_process->generation;
      l.system_thread = system_thread_number();
      l.thread =
          the_spool->processes[the_process->index].threads.fetch_add(1, std::memory_order_relaxed) +
          1;
    }
    static_cast<void>(thread_ends.watch(&own_log));
    if (l.now != nullptr) seal(l.index);
    l.now = nullptr;
    l.next = l.end = nullptr;
    l.index = take_chunk();
    if (l.index != trace::chunks_max) {
      begin_chunk(l.index, l.thread, l.system_thread, l.sequence++, ticks);
      l.now = trace::chunk_of(the_spool, l.index);
      l.next = l.now->records;
      l.end = l.next + chunk::records_max;
      l.ticks = ticks;
      if (is_new) put(event_kind::thread_start, nullptr, ticks, 0);
      done = true;
    } else if (is_on()) {
      the_spool->processes[the_process->index].lost.fetch_add(1, std::memory_order_relaxed);
    }
  }
  l.inside = was_inside;
  return done;
}

void put_records(std::uint64_t ticks, const spool_record* records, std::uint32_t count,
                 const void* bytes, std::size_t byte_count) {
  thread_log& l = own_log;
  const std::uint32_t whole = count + trace::records_for(static_cast<std::uint32_t>(byte_count));
  if (!refill(whole, ticks)) return;
  std::memcpy(l.next, records, count * sizeof(spool_record));
  if (byte_count != 0) std::memcpy(l.next + count, bytes, byte_count);
  l.next += whole;
  l.now->header.used.store(static_cast<std::uint32_t>(l.next - l.now->records),
                           std::memory_order_release);
}

void put_large(event_kind kind, std::uint64_t address, std::uint64_t ticks, std::uint64_t size,
               std::uint64_t alignment, std::uint32_t stack) {
  spool_record records[5];
  std::uint32_t count = 0;
  if (((own_log.ticks ^ ticks) >> 31) != 0) records[count++] = prefix(spool_kind::time, ticks, 0);
  if (size > UINT32_MAX) records[count++] = prefix(spool_kind::size, size, 0);
  if (alignment != 0) records[count++] = prefix(spool_kind::alignment, alignment, 0);
  if (stack != 0) records[count++] = prefix(spool_kind::stack, 0, stack);
  records[count++] = {static_cast<std::uint64_t>(kind) << 56 | address,
                      static_cast<std::uint32_t>(ticks), static_cast<std::uint32_t>(size)};
  put_records(ticks, records, count);
  own_log.ticks = ticks;
  if (stack != 0 && size >= least_bytes_looked_at && is_one_to_look_at(stack))
    watched.add(static_cast<std::uintptr_t>(address), size);
}

void put_other(event_kind kind, std::uint32_t number, const char* text, std::uint32_t bytes) {
  const std::uint64_t ticks = now();
  constexpr std::uint32_t most = chunk::records_max * sizeof(spool_record) / 2;
  bytes = bytes < most ? bytes : most;
  // The text is directly before its event, so that both are in one chunk.
  if (!refill(3 + trace::records_for(bytes), ticks)) return;
  const spool_record before[2] = {prefix(spool_kind::time, ticks, 0),
                                  prefix(spool_kind::text, 0, bytes)};
  put_records(ticks, before, bytes != 0 ? 2 : 1, text, bytes);
  const spool_record event{static_cast<std::uint64_t>(kind) << 56,
                           static_cast<std::uint32_t>(ticks), number};
  put_records(ticks, &event, 1);
  own_log.ticks = ticks;
}

}  // namespace ashlar::shim
