// tools/trace/reader.cpp. Layer: trace.
#include "tools/trace/reader.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "tools/trace/checksum.hpp"
#include "tools/trace/error.hpp"

namespace ashlar::trace {

/// A thread's place. `turn` is the time at which it comes: that of its next event, or later where that was postponed.
struct trace_reader::cursor {
  std::uint32_t index = 0;
  std::vector<frame_place> frames;
  std::size_t frame = 0;  // the next one
  std::uint64_t turn = 0;
  bool has_event = false;  // `next` is read; before that, only the frame's first time is known
  event next;
  std::uint64_t payload_at = 0;
  std::unique_ptr<frame_decoder> decoder;  // while a frame is open

  [[nodiscard]] bool at_end() const {
    return !has_event && frame == frames.size() && decoder == nullptr;
  }
  [[nodiscard]] bool comes_before(const cursor& other) const {
    return std::tuple(turn, index) < std::tuple(other.turn, other.index);
  }
};

trace_reader::trace_reader(std::unique_ptr<byte_source> source, unfinished about)
    : source_(std::move(source)) {
  read_header();
  index_frames(about);
  check_times();
  for (const auto& each : cursors_) {
    each->turn = each->frames.front().header.first_time;
    schedule(each->index);
  }
}

trace_reader::~trace_reader() = default;

void trace_reader::fail(std::uint64_t offset, const std::string& fault) const {
  throw trace_error(source_->name(), offset, fault);
}

void trace_reader::read_header() {
  std::array<std::uint8_t, preamble_bytes> preamble{};
  const std::size_t got = source_->read(0, preamble);
  if (got == 0) fail(0, "the file is empty");
  const std::size_t common = std::min(got, magic.size());
  if (text_of(byte_view(preamble).first(common)) != magic.substr(0, common))
    fail(0, "this is no trace of ashlar's (`ashlar record` writes them)");
  if (got < preamble.size()) fail(got, "the file ends in the middle of its header");
  const auto found_version = get_fixed<std::uint32_t>(preamble.data() + 8);
  if (found_version > version) {
    fail(8, "the trace has version " + std::to_string(found_version) +
                ", and this ashlar reads up to " + std::to_string(version) +
                ": a newer ashlar is needed");
  }
  const auto length = get_fixed<std::uint32_t>(preamble.data() + 12);
  if (found_version != version || length > header_bytes_max) fail(8, "the header is damaged");
  std::string bytes(preamble_bytes + length + 4, '\0');
  if (bytes.size() > source_->size())
    fail(source_->size(), "the file ends in the middle of its header");
  source_->read(0, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  const byte_view all = view_of(bytes);
  if (get_fixed<std::uint32_t>(all.data() + all.size() - 4) != checksum(all.first(all.size() - 4)))
    fail(preamble_bytes, "the header is damaged (checksum)");
  byte_reader from(all.subspan(preamble_bytes, length));
  while (!from.empty()) {
    const auto name = from.string();
    const auto value = from.string();
    if (!name || !value) fail(preamble_bytes, "the header is damaged");
    header_.set(*name, *value);
  }
}

void trace_reader::index_frames(unfinished about) {
  // The header's length is known by now: it starts the frames.
  std::array<std::uint8_t, 4> length{};
  source_->read(12, length);
  std::uint64_t at = preamble_bytes + get_fixed<std::uint32_t>(length.data()) + 4;
  std::uint64_t next = at;
  frames_by_thread frames;
  while (!ended_ && index_frame(at, about, frames, next)) at = next;
  if (ended_ && next != source_->size()) fail(next, "there are bytes behind the end of the trace");
  if (!ended_) {
    warning_ = source_->name() + ": at byte " + std::to_string(at) +
               ": the trace ends without its end: the recorder was stopped, or the file was cut; "
               "all before is read";
    if (about == unfinished::refuse) fail(at, "the trace ends without its end");
  }
  for (auto& [thread, places] : frames) {
    auto added = std::make_unique<cursor>();
    added->index = static_cast<std::uint32_t>(cursors_.size());
    added->frames = std::move(places);
    cursors_.push_back(std::move(added));
  }
}

bool trace_reader::index_frame(std::uint64_t at, unfinished about, frames_by_thread& frames,
                               std::uint64_t& next) {
  std::array<std::uint8_t, frame_header_bytes> bytes{};
  const std::size_t got = source_->read(at, bytes);
  if (got < bytes.size()) return false;
  frame_place place;
  if (!decode(bytes, place.header))
    fail(at, "no frame begins here, or its header is damaged (checksum)");
  place.payload_at = at + frame_header_bytes;
  next = place.payload_at + place.header.payload_bytes;
  const frame_header& header = place.header;
  if (header.payload_bytes > frame_payload_max) fail(at, "a frame of more bytes than there may be");
  if (next > source_->size()) {
    if (about == unfinished::refuse)
      fail(source_->size(), "the file ends in the middle of a frame");
    return false;
  }
  switch (header.kind) {
    case frame_kind::events: {
      if (header.thread == 0 || header.last_time < header.first_time)
        fail(at, "a frame of no thread or no time");
      frames[header.thread].push_back(place);
      events_ += header.count;
      return true;
    }
    case frame_kind::stacks:
    case frame_kind::modules:
      read_definitions(place);
      return true;
    case frame_kind::end: {
      std::uint64_t events = 0;
      if (!decode_end(view_of(payload_of(place)), events)) fail(at, "the end cannot be read");
      if (events != events_) fail(at, "there are not as many events as the trace's end says");
      ended_ = true;
      return true;
    }
  }
  fail(at, "a frame of an unknown kind");
}

void trace_reader::read_definitions(const frame_place& place) {
  const std::string payload = payload_of(place);
  const char* const fault = place.header.kind == frame_kind::stacks
                                ? decode(place.header, view_of(payload), decompressor_, stacks_)
                                : decode(place.header, view_of(payload), decompressor_, modules_);
  if (fault != nullptr) fail(place.payload_at, fault);
}

void trace_reader::check_times() const {
  for (const auto& each : cursors_)
    for (std::size_t i = 1; i < each->frames.size(); ++i)
      if (each->frames[i].header.first_time < each->frames[i - 1].header.last_time)
        fail(each->frames[i].payload_at,
             "a frame that begins before the one before it of its thread ended");
}

std::string trace_reader::payload_of(const frame_place& place) {
  std::string payload(place.header.payload_bytes, '\0');
  const std::size_t got = source_->read(
      place.payload_at, {reinterpret_cast<std::uint8_t*>(payload.data()), payload.size()});
  if (got != payload.size())
    fail(place.payload_at + got, "the file became shorter while it was read");
  if (checksum(view_of(payload)) != place.header.payload_checksum)
    fail(place.payload_at, "the frame is damaged (checksum)");
  return payload;
}

// ---- the order ------------------------------------------------------------------------------------

// Of the heap, the first is the one that all others come after.
void trace_reader::schedule(std::uint32_t index) {
  heap_.push_back(index);
  std::push_heap(heap_.begin(), heap_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return cursors_[b]->comes_before(*cursors_[a]);
  });
}

std::uint32_t trace_reader::unschedule() {
  std::pop_heap(heap_.begin(), heap_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return cursors_[b]->comes_before(*cursors_[a]);
  });
  const std::uint32_t index = heap_.back();
  heap_.pop_back();
  return index;
}

void trace_reader::advance(cursor& of) {
  of.has_event = false;
  if (of.decoder == nullptr || of.decoder->left() == 0) {
    if (of.frame == of.frames.size()) {
      of.decoder.reset();
      return;
    }
    const frame_place& place = of.frames[of.frame++];
    if (of.decoder == nullptr) of.decoder = std::make_unique<frame_decoder>();
    of.payload_at = place.payload_at;
    const std::string payload = payload_of(place);
    const char* const fault = of.decoder->begin(place.header, view_of(payload), decompressor_);
    if (fault != nullptr) fail(place.payload_at, fault);
  }
  const char* const fault = of.decoder->next(of.next);
  if (fault != nullptr) fail(of.payload_at, fault);
  of.has_event = true;
  of.turn = of.next.time;
}

const event* trace_reader::peek() {
  if (current_ == nullptr) {
    if (heap_.empty()) return nullptr;
    current_ = cursors_[unschedule()].get();
    // Until now only the first time was known; the first event has it.
    if (!current_->has_event) advance(*current_);
  }
  return &current_->next;
}

void trace_reader::pop() {
  advance(*current_);
  if (current_->at_end()) {
    current_ = nullptr;
  } else if (!heap_.empty() && cursors_[heap_.front()]->comes_before(*current_)) {
    schedule(current_->index);
    current_ = nullptr;
  }
}

bool trace_reader::postpone(std::uint64_t ticks) {
  if (heap_.empty()) return false;
  const cursor& other = *cursors_[heap_.front()];
  if (other.turn > current_->next.time + ticks) return false;
  current_->turn = std::max(current_->turn, other.turn);
  // The other one goes first at one time, whatever their numbers are.
  if (!other.comes_before(*current_)) ++current_->turn;
  schedule(current_->index);
  current_ = nullptr;
  return true;
}

}  // namespace ashlar::trace
