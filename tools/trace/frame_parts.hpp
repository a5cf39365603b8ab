// tools/trace/frame_parts.hpp: what frames of events and of definitions are made of. Layer: trace.
#pragma once

#include <cstdint>
#include <string>

#include "tools/trace/bytes.hpp"
#include "tools/trace/compression.hpp"
#include "tools/trace/frame.hpp"

namespace ashlar::trace {

inline constexpr const char* no_room = "more than a trace of this size may unpack to";

inline std::string whole_frame(frame_header header, const std::string& payload) {
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = checksum(view_of(payload));
  return encode(header) + payload;
}

inline std::string definitions_frame(frame_kind kind, std::size_t count, const std::string& bytes,
                                     compressor& with) {
  frame_header header;
  header.kind = kind;
  header.count = static_cast<std::uint32_t>(count);
  std::string payload;
  with.put_column(payload, view_of(bytes));
  return whole_frame(header, payload);
}

/// Returns: false where there is less room.
inline bool take(std::uint64_t& room, std::uint64_t bytes) {
  if (bytes > room) return false;
  room -= bytes;
  return true;
}

/// Effects: unpacks the next column, if there is room for it. Returns: what is wrong, or null.
inline const char* unpack(byte_reader& from, std::size_t length_max, decompressor& with,
                          std::uint64_t room, std::string& bytes) {
  // Its length comes first, so nothing is unpacked that is too much.
  const auto length = byte_reader(from).varint();
  if (length && *length > room) return no_room;
  return with.get_column(from, length_max, bytes) ? nullptr
                                                  : "a column that cannot be decompressed";
}

/// The same of a payload that is one column.
inline const char* unpack(byte_view payload, decompressor& with, std::uint64_t room,
                          std::string& bytes) {
  byte_reader from(payload);
  const char* const fault = unpack(from, frame_payload_max, with, room, bytes);
  return fault == nullptr && !from.empty() ? "bytes behind the column" : fault;
}

}  // namespace ashlar::trace
