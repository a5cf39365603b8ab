// tools/trace/frame.cpp. Layer: trace.
//
// An address is written as a difference d to one that is expected: zigzag(d / 8) * 2, or that + 1
// and then the byte d % 8 (most blocks are at multiples of 8). Expected is, for a birth, the last
// birth of that size; for a death or a note, the last one that was written so. A death or a note of
// a block that was born in the same frame is written as how many births ago, and a birth where a
// block of the same frame died as how many deaths ago.
//
// Times are steps of 2^bits ticks from the frame's first event on. The events of a step are read
// back at equal distances in it, and the last one at the time that the frame says.
#include "tools/trace/frame.hpp"

#include <algorithm>
#include <bit>

#include "tools/trace/bytes.hpp"
#include "tools/trace/frame_parts.hpp"

namespace ashlar::trace {
namespace {

constexpr std::size_t number_bytes_max = 10;

/// Returns: false where there is no difference.
bool get_difference(byte_reader& from, std::uint64_t& difference) {
  const auto number = from.varint();
  if (!number) return false;
  difference = unzigzag(*number >> 1) << 3;
  if ((*number & 1) == 0) return true;
  const auto low = from.byte();
  if (!low || *low == 0 || *low > 7) return false;
  difference += *low;
  return true;
}

}  // namespace

std::string encode(const trace_header& header) {
  std::string pairs;
  for (const auto& [name, value] : header.all()) {
    put_string(pairs, name);
    put_string(pairs, value);
  }
  std::string out(magic);
  put_fixed(out, version);
  put_fixed(out, static_cast<std::uint32_t>(pairs.size()));
  out += pairs;
  put_fixed(out, checksum(view_of(out)));
  return out;
}

std::string encode(const frame_header& header) {
  std::string out;
  put_fixed(out, frame_marker);
  put_fixed(out, static_cast<std::uint32_t>(header.kind));
  put_fixed(out, header.thread);
  put_fixed(out, header.count);
  put_fixed(out, header.first_time);
  put_fixed(out, header.last_time);
  put_fixed(out, header.payload_bytes);
  put_fixed(out, header.payload_checksum);
  put_fixed(out, checksum(view_of(out)));
  return out;
}

bool decode(byte_view bytes, frame_header& header) {
  const std::uint8_t* const at = bytes.data();
  if (bytes.size() != frame_header_bytes || get_fixed<std::uint32_t>(at) != frame_marker)
    return false;
  if (checksum(bytes.first(frame_header_bytes - 4)) != get_fixed<std::uint32_t>(at + 40))
    return false;
  header.kind = static_cast<frame_kind>(get_fixed<std::uint32_t>(at + 4));
  header.thread = get_fixed<std::uint32_t>(at + 8);
  header.count = get_fixed<std::uint32_t>(at + 12);
  header.first_time = get_fixed<std::uint64_t>(at + 16);
  header.last_time = get_fixed<std::uint64_t>(at + 24);
  header.payload_bytes = get_fixed<std::uint32_t>(at + 32);
  header.payload_checksum = get_fixed<std::uint32_t>(at + 36);
  return true;
}

// ---- events ---------------------------------------------------------------------------------------

void frame_encoder::put_address(std::uint64_t difference) {
  const std::uint64_t low = difference & 7;
  const auto eighths = static_cast<std::uint64_t>(static_cast<std::int64_t>(difference) >> 3);
  put_varint(columns_[column_addresses], zigzag(eighths) << 1 | (low != 0 ? 1 : 0));
  if (low != 0) columns_[column_addresses].push_back(static_cast<char>(low));
}

/// Returns: the place of this address, which is another one's no more.
frame_encoder::last_seen& frame_encoder::seen(std::uint64_t address) {
  last_seen& place = seen_[(address >> 3) * 0x9e3779b97f4a7c15u >> (64 - place_bits)];
  if (place.address != address || place.frame != frame_) place = {address, frame_, 0, 0};
  return place;
}

void frame_encoder::add_birth(const event& e) {
  std::uint8_t flags = 0;
  put_varint(columns_[column_sizes], e.size);
  std::uint64_t& guess = guess_.for_size(e.size);
  last_seen& of = seen(e.address);
  if (of.death != 0) {
    flags |= recycled;
    put_varint(columns_[column_addresses], deaths_ - of.death);
  } else {
    put_address(e.address - guess);
  }
  guess = e.address;
  of.birth = static_cast<std::uint16_t>(++births_);
  if (e.alignment != 0) {
    flags |= flag_aligned;
    columns_[column_alignments].push_back(static_cast<char>(std::countr_zero(e.alignment)));
  }
  if (e.stack != 0) {
    flags |= flag_stack;
    put_varint(columns_[column_stacks], e.stack);
  }
  columns_[column_kinds].push_back(static_cast<char>(static_cast<std::uint8_t>(e.kind) | flags));
}

void frame_encoder::add_death_or_note(const event& e) {
  last_seen& of = seen(e.address);
  const bool near = of.birth != 0;
  if (near) {
    put_varint(columns_[column_addresses], births_ - of.birth);
  } else {
    put_address(e.address - last_death_);
    last_death_ = e.address;
  }
  if (is_note(e.kind))
    put_varint(columns_[column_sizes], e.size);
  else
    of.death = static_cast<std::uint16_t>(++deaths_);
  columns_[column_kinds].push_back(
      static_cast<char>(static_cast<std::uint8_t>(e.kind) | (near ? flag_near : 0)));
}

void frame_encoder::add(const event& e, unsigned time_bits) {
  if (header_.count == 0) {
    header_.first_time = e.time;
    time_bits_ = time_bits;
  }
  const std::uint64_t steps = (e.time - header_.first_time) >> time_bits_;
  put_varint(columns_[column_times], steps - steps_);
  steps_ = steps;
  header_.last_time = e.time;
  ++header_.count;
  if (is_birth(e.kind)) return add_birth(e);
  if (is_death(e.kind) || is_note(e.kind)) return add_death_or_note(e);
  put_varint(columns_[column_sizes], e.size);
  if (has_text(e.kind)) put_string(columns_[column_texts], e.text);
  columns_[column_kinds].push_back(static_cast<char>(e.kind));
}

void frame_encoder::finish(std::uint32_t thread, compressor& with, std::string& out) {
  header_.kind = frame_kind::brief_events;
  header_.thread = thread;
  std::string payload(1, static_cast<char>(time_bits_));
  for (std::string& column : columns_) {
    with.put_column(payload, view_of(column),
                    &column == &columns_[column_times] ? compressor::fastest : compressor::usual);
    column.clear();
  }
  out += whole_frame(header_, payload);
  header_ = {};
  guess_.clear();
  last_death_ = 0;
  steps_ = 0;
  births_ = 0;
  deaths_ = 0;
  if (++frame_ == 0) {  // numbers come again
    std::ranges::fill(seen_, last_seen{});
    frame_ = 1;
  }
}

const char* frame_decoder::begin(const frame_header& header, byte_view payload, decompressor& with,
                                 std::uint64_t& room) {
  if (header.count == 0 || header.count > frame_events_max)
    return "a frame of no or too many events";
  const bool is_brief = header.kind == frame_kind::brief_events;
  if (!take(room, header.count * sizeof births_[0] * (is_brief ? 2 : 1))) return no_room;
  births_.reserve(header.count);
  byte_reader from(payload);
  if (is_brief) {
    deaths_.reserve(header.count);
    const auto bits = from.byte();
    if (!bits || *bits > time_bits_max) return "times in steps that are none";
    time_bits_ = *bits;
  }
  for (std::size_t i = 0; i < column_count; ++i) {
    const std::size_t most =
        i == column_texts ? frame_payload_max : number_bytes_max * header.count;
    if (const char* const fault = unpack(from, most, with, room, columns_[i]); fault != nullptr)
      return fault;
    room -= columns_[i].size();
    rest_[i] = byte_reader(view_of(columns_[i]));
  }
  if (!from.empty()) return "bytes behind the last column";
  if (rest_[column_kinds].left() != header.count)
    return "another number of events than the frame says";
  header_ = header;
  left_ = header.count;
  time_ = header.first_time;
  return nullptr;
}

const char* frame_decoder::read_time(event& e) {
  const auto steps = rest_[column_times].varint();
  if (!steps || *steps > (header_.last_time - time_) >> time_bits_)
    return "an event without a time in its frame";
  const bool is_first = left_ == header_.count;
  // By that time its thread has its turn.
  if (is_first && *steps != 0) return "another first time than the frame says";
  time_ += *steps << time_bits_;
  e.time = time_;
  if (time_bits_ == 0) return nullptr;
  if (is_first || *steps != 0) {
    in_step_ = 1 + static_cast<std::uint32_t>(rest_[column_times].zeros());
    nth_ = 0;
  }
  if (nth_ == in_step_) return "a time that is written as no other one is";
  e.time += (std::uint64_t{nth_++} << time_bits_) / in_step_;
  if (left_ == 1 || e.time > header_.last_time) e.time = header_.last_time;
  return nullptr;
}

const char* frame_decoder::read_birth(event& e, std::uint8_t flags, bool is_recycled) {
  const auto size = rest_[column_sizes].varint();
  if (!size) return "a birth without size";
  e.size = *size;
  std::uint64_t& guess = guess_.for_size(e.size);
  if (is_recycled) {
    const auto ago = rest_[column_addresses].varint();
    if (!ago || *ago >= deaths_.size()) return "a birth of a block that did not die in the frame";
    guess = deaths_[deaths_.size() - 1 - static_cast<std::size_t>(*ago)];
  } else {
    std::uint64_t difference = 0;
    if (!get_difference(rest_[column_addresses], difference)) return "a birth without address";
    guess += difference;
  }
  e.address = guess;
  births_.push_back(e.address);
  if ((flags & flag_aligned) != 0) {
    const auto logarithm = rest_[column_alignments].byte();
    if (!logarithm || *logarithm > 63) return "an alignment that is none";
    e.alignment = std::uint64_t{1} << *logarithm;
  }
  if ((flags & flag_stack) != 0) {
    const auto stack = rest_[column_stacks].varint();
    if (!stack || *stack == 0 || *stack > UINT32_MAX) return "a stack that is none";
    e.stack = static_cast<std::uint32_t>(*stack);
  }
  return nullptr;
}

const char* frame_decoder::read_death_or_note(event& e, std::uint8_t flags) {
  if ((flags & flag_near) != 0) {
    const auto ago = rest_[column_addresses].varint();
    if (!ago || *ago >= births_.size()) return "a death of a block that the frame does not have";
    e.address = births_[births_.size() - 1 - static_cast<std::size_t>(*ago)];
  } else {
    std::uint64_t difference = 0;
    if (!get_difference(rest_[column_addresses], difference)) return "a death without address";
    e.address = last_death_ += difference;
  }
  if (is_note(e.kind)) {
    const auto number = rest_[column_sizes].varint();
    if (!number) return "a note without its number";
    e.size = *number;
  } else if (header_.kind == frame_kind::brief_events) {
    deaths_.push_back(e.address);
  }
  return nullptr;
}

const char* frame_decoder::check_end() const {
  if ((header_.last_time - time_) >> time_bits_ != 0)
    return "another last time than the frame says";
  for (const byte_reader& rest : rest_)
    if (!rest.empty()) return "a column with more than its events";
  return nullptr;
}

const char* frame_decoder::next(event& e) {
  const auto byte = rest_[column_kinds].byte();
  if (!byte) return "an event without its kind";
  const std::uint8_t flags = *byte & static_cast<std::uint8_t>(~kind_mask);
  e = event{};
  std::uint8_t kind = *byte & kind_mask;
  const bool is_recycled =
      header_.kind == frame_kind::brief_events && kind > recycled && kind < 2 * recycled;
  if (is_recycled) kind -= recycled;
  e.kind = static_cast<event_kind>(kind);
  e.thread = header_.thread;
  const char* fault = read_time(e);
  if (fault != nullptr) return fault;
  if (is_birth(e.kind)) {
    fault = read_birth(e, flags, is_recycled);
  } else if ((is_death(e.kind) || is_note(e.kind)) && (flags & ~flag_near) == 0) {
    fault = read_death_or_note(e, flags);
  } else if (is_other(e.kind) && flags == 0) {
    const auto number = rest_[column_sizes].varint();
    if (!number) return "an event without its number";
    e.size = *number;
    if (has_text(e.kind)) {
      const auto text = rest_[column_texts].string();
      if (!text) return "an event without its text";
      e.text = *text;
    }
  } else {
    return "an event of an unknown kind";
  }
  if (fault != nullptr) return fault;
  return --left_ == 0 ? check_end() : nullptr;
}

}  // namespace ashlar::trace
