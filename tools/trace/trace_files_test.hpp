// tools/trace/trace_files_test.hpp: small traces made by hand, for the tests.
#pragma once

#include "tools/trace/reader.hpp"
#include "tools/trace/writer.hpp"

namespace ashlar::trace::test {

inline trace_header header() {
  trace_header h;
  h.set(header_name::program, "/bin/program");
  h.set(header_name::arguments, std::string("program\0-x\0", 11));
  h.set(header_name::ticks_per_second, 1'000'000);  // a tick is a microsecond
  return h;
}

inline event birth(std::uint32_t thread, std::uint64_t time, std::uint64_t address,
                   std::uint64_t size = 16) {
  return {event_kind::by_malloc, thread, 0, time, address, size, 0, {}};
}
inline event death(std::uint32_t thread, std::uint64_t time, std::uint64_t address) {
  return {event_kind::from_free, thread, 0, time, address, 0, 0, {}};
}
/// At least so many bytes of the block are untouched.
inline event note(std::uint32_t thread, std::uint64_t time, std::uint64_t address,
                  std::uint64_t bytes) {
  return {event_kind::untouched, thread, 0, time, address, bytes, 0, {}};
}
inline event other(event_kind kind, std::uint32_t thread, std::uint64_t time,
                   std::uint64_t number = 0, std::string_view text = {}) {
  return {kind, thread, 0, time, 0, number, 0, text};
}

/// A whole trace of these events; each thread's frame ends after so many of its events.
inline std::string written(const std::vector<event>& events, std::size_t frame_each = 1000,
                           const trace_header& head = header()) {
  std::string bytes;
  trace_writer out([&](std::string_view more) { bytes += more; }, head);
  std::vector<std::size_t> counts;
  for (const event& e : events) {
    out.add(e);
    if (counts.size() <= e.thread) counts.resize(e.thread + 1);
    if (++counts[e.thread] % frame_each == 0) out.flush(e.thread);
  }
  out.close();
  return bytes;
}

/// A frame of these columns, which may lie; only its checksums are right.
inline std::string framed(frame_header header,
                          const std::array<std::string, column_count>& columns) {
  compressor with;
  std::string payload;
  for (const std::string& column : columns) with.put_column(payload, view_of(column));
  header.kind = frame_kind::events;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = checksum(view_of(payload));
  return encode(header) + payload;
}

inline trace_reader read(std::string bytes, unfinished about = unfinished::read_what_is_there) {
  return trace_reader(memory_source("a.atrace", std::move(bytes)), about);
}

}  // namespace ashlar::trace::test
