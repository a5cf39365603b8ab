// tools/trace/frame.hpp: the events of one thread as columns of small numbers, and back. Layer: trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/trace/compression.hpp"
#include "tools/trace/event.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::trace {

std::string encode(const frame_header& header);
/// What stands before the frames.
std::string encode(const trace_header& header);
/// Returns: false where there is no frame header, or its checksum is another.
bool decode(byte_view bytes, frame_header& header);

/// The address of a birth is near that of the last birth of its size; both sides of the file expect it there.
class address_guess {
 public:
  [[nodiscard]] std::uint64_t& for_size(std::uint64_t size) { return last_[guess_place(size)]; }
  void clear() { last_.fill(0); }

 private:
  std::array<std::uint64_t, guess_places> last_{};
};

/// Collects the events of one thread. Not thread-safe.
class frame_encoder {
 public:
  /// Requires: not full(). An event's time is not before that of the one before it; its text has at most event_text_max
  /// bytes. `time_bits`: the frame's times are within 2 to that power of ticks, at most
  /// time_bits_max; that of its first event counts.
  void add(const event& e, unsigned time_bits = 0);
  [[nodiscard]] std::uint32_t count() const { return header_.count; }
  [[nodiscard]] bool full() const {
    return header_.count == events_each || columns_[column_texts].size() >= event_text_max;
  }
  /// Effects: appends the frame to `out`, and begins anew. Requires: count() != 0.
  void finish(std::uint32_t thread, compressor& with, std::string& out);

  /// More do not compress better, fewer do worse: by a tenth at a quarter (docs/decisions/0014).
  static constexpr std::uint32_t events_each = 1u << 14;
  static_assert(events_each <= frame_events_max && events_each <= UINT16_MAX);

 private:
  /// What the frame has of an address: how many births, or deaths, there were with its last one. 0:
  /// none.
  struct last_seen {
    std::uint64_t address = 0;
    std::uint32_t frame = 0;  // of all that this encoder made: what an earlier one left is nothing
    std::uint16_t birth = 0;
    std::uint16_t death = 0;
  };
  last_seen& seen(std::uint64_t address);
  void add_birth(const event& e);
  void add_death_or_note(const event& e);
  void put_address(std::uint64_t difference);

  frame_header header_;
  std::array<std::string, column_count> columns_;
  address_guess guess_;
  std::uint64_t last_death_ = 0;
  unsigned time_bits_ = 0;
  std::uint64_t steps_ = 0;  // of time, from the first event to the last one
  std::uint32_t births_ = 0;
  std::uint32_t deaths_ = 0;
  std::uint32_t frame_ = 1;
  static constexpr unsigned place_bits = 14;
  /// By address. A place is the last one's that hashed there: what is not found is written in full.
  std::vector<last_seen> seen_ = std::vector<last_seen>(1u << place_bits);
};

/// Reads one frame of events, one by one.
class frame_decoder {
 public:
  /// Effects: begins the frame, and takes the bytes that it has in memory from `room`. Returns: what is wrong with it, or
  /// null; also where there is less room. The payload is not needed any more. Requires: it is called once.
  const char* begin(const frame_header& header, byte_view payload, decompressor& with,
                    std::uint64_t& room);
  /// Returns: what is wrong, or null. Requires: left() != 0. `text` is valid while this lives.
  const char* next(event& e);
  [[nodiscard]] std::uint32_t left() const { return left_; }

 private:
  const char* read_time(event& e);
  const char* read_birth(event& e, std::uint8_t flags, bool is_recycled);
  const char* read_death_or_note(event& e, std::uint8_t flags);
  const char* check_end() const;

  frame_header header_;
  std::array<std::string, column_count> columns_;
  std::array<byte_reader, column_count> rest_;
  std::uint32_t left_ = 0;
  std::uint64_t time_ = 0;  // where the step begins
  unsigned time_bits_ = 0;
  std::uint32_t in_step_ = 0;  // how many events have this step
  std::uint32_t nth_ = 0;      // how many of them were read
  address_guess guess_;
  std::uint64_t last_death_ = 0;
  std::vector<std::uint64_t> births_;
  std::vector<std::uint64_t> deaths_;  // of brief_events
};

std::string encode(std::span<const stack_definition> stacks, compressor& with);
std::string encode(std::span<const module_definition> modules, compressor& with);
std::string encode(std::span<const name_definition> names, compressor& with);
std::string encode(std::span<const memory_look> looks, compressor& with);
std::string encode(std::span<const own_mapping> mappings, compressor& with);
std::string encode(const exit_look& look, compressor& with);
/// Effects: appends the definitions, and takes the bytes that they have in memory from `room`. Returns: what is wrong, or
/// null; also where there is less room.
const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<stack_definition>& stacks);
const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<module_definition>& modules);
const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<name_definition>& names);
const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<memory_look>& looks);
const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::vector<own_mapping>& mappings);
/// Effects: the same; one that was there is replaced.
const char* decode(const frame_header& header, byte_view payload, decompressor& with,
                   std::uint64_t& room, std::optional<exit_look>& look);
/// The last frame.
std::string encode_end(std::uint64_t events);
bool decode_end(byte_view payload, std::uint64_t& events);

}  // namespace ashlar::trace
