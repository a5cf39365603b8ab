// tools/trace/reader.cpp. Layer: trace.
#include "tools/trace/reader.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "tools/trace/bytes.hpp"
#include "tools/trace/error.hpp"

namespace ashlar::trace {
namespace {

// What a trace may unpack to in memory: its definitions, and of each thread the frame that is open. Recordings are far from
// it (docs/trace-format.md). Without a limit a file of 100 KB would fill gigabytes.
constexpr std::uint64_t unpacked_bytes = 64u << 20;
constexpr std::uint64_t unpacked_bytes_for_each_of_file = 256;

[[noreturn]] void fail_at(const byte_source& source, std::uint64_t offset,
                          const std::string& fault) {
  throw trace_error(source.name(), offset, fault);
}

}  // namespace

trace_begin read_header(byte_source& source) {
  const auto fail = [&](std::uint64_t offset, const std::string& fault) {
    fail_at(source, offset, fault);
  };
  trace_begin begin;
  std::array<std::uint8_t, preamble_bytes> preamble{};
  const std::size_t got = source.read(0, preamble);
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
  if (found_version == 0 || length > header_bytes_max) fail(8, "the header is damaged");
  std::string bytes(preamble_bytes + length + 4, '\0');
  if (bytes.size() > source.size())
    fail(source.size(), "the file ends in the middle of its header");
  source.read(0, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  const byte_view all = view_of(bytes);
  if (get_fixed<std::uint32_t>(all.data() + all.size() - 4) != checksum(all.first(all.size() - 4)))
    fail(preamble_bytes, "the header is damaged (checksum)");
  byte_reader from(all.subspan(preamble_bytes, length));
  for (std::size_t names = 0; !from.empty(); ++names) {
    if (names == header_names_max)
      fail(preamble_bytes, "the header has more than " + std::to_string(names) + " names");
    const auto name = from.string();
    const auto value = from.string();
    if (!name || !value) fail_at(source, preamble_bytes, "the header is damaged");
    begin.header.set(*name, *value);
  }
  begin.frames_at = bytes.size();
  return begin;
}

struct trace_reader::open_frame {
  /// So many are decoded ahead: enough that memory has time to answer, few enough that what it answered is still near.
  static constexpr std::size_t some = 64;

  std::uint64_t payload_at = 0;
  std::uint64_t room = 0;  // that it takes
  frame_decoder decoder;
  std::array<event, some> events;  // decoded; those from `next` to `end` were not given out yet
  std::size_t next = 0, end = 0;
  const char* fault = nullptr;  // of the event behind them
};

/// A thread's place. `turn` is the time at which it comes: that of its next event, or later where that
/// was postponed.
struct trace_reader::cursor {
  std::uint32_t thread = 0;
  std::uint64_t turn = 0;
  bool has_event = false;  // `next` is read; before that, only its time is known
  event next;
  std::vector<frame_place> frames;
  std::size_t frame = 0;             // the next one
  std::unique_ptr<open_frame> open;  // the one before it, until the last one was read

  [[nodiscard]] bool comes_before(const cursor& other) const {
    return std::tuple(turn, thread) < std::tuple(other.turn, other.thread);
  }
};

trace_reader::trace_reader(std::unique_ptr<byte_source> source, unfinished about)
    : source_(std::move(source)),
      room_(unpacked_bytes + unpacked_bytes_for_each_of_file * source_->size()) {
  trace_begin begin = read_header(*source_);
  header_ = std::move(begin.header);
  index_frames(begin.frames_at, about);
  check_times();
  for (const auto& each : cursors_) {
    each->turn = each->frames.front().header.first_time;
    schedule(*each);
  }
}

trace_reader::~trace_reader() = default;

void trace_reader::fail(std::uint64_t offset, const std::string& fault) const {
  fail_at(*source_, offset, fault);
}

void trace_reader::index_frames(std::uint64_t at, unfinished about) {
  std::uint64_t next = at;
  frames_by_thread frames;
  while (!ended_ && index_frame(at, about, frames, next)) at = next;
  if (ended_ && next != source_->size()) fail(next, "there are bytes behind the end of the trace");
  if (!ended_) {
    warning_ = source_->name() + ": at byte " + std::to_string(at) +
               ": the trace ends without its end; all before is read. It lacks, of a recorder that "
               "was killed, at most the last second before that, and all after it; of a file that "
               "was cut, all after the cut";
    if (about == unfinished::refuse) fail(at, "the trace ends without its end");
  }
  for (auto& [thread, places] : frames) {
    auto added = std::make_unique<cursor>();
    added->thread = thread;
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
    case frame_kind::events:
    case frame_kind::brief_events: {
      if (header.thread == 0 || header.last_time < header.first_time)
        fail(at, "a frame of no thread or no time");
      frames[header.thread].push_back(place);
      events_ += header.count;
      return true;
    }
    case frame_kind::stacks:
    case frame_kind::modules:
    case frame_kind::identified_modules:
    case frame_kind::names:
    case frame_kind::memory:
    case frame_kind::mappings:
    case frame_kind::exit_look:
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
  const auto decode_into = [&](auto& definitions) {
    return decode(place.header, view_of(payload), decompressor_, room_, definitions);
  };
  const frame_kind kind = place.header.kind;
  const char* const fault = kind == frame_kind::stacks      ? decode_into(stacks_)
                            : kind == frame_kind::names     ? decode_into(names_)
                            : kind == frame_kind::memory    ? decode_into(looks_)
                            : kind == frame_kind::mappings  ? decode_into(mappings_)
                            : kind == frame_kind::exit_look ? decode_into(exit_look_)
                                                            : decode_into(modules_);
  if (fault != nullptr) fail(place.payload_at, fault);
}

std::pair<std::uint64_t, std::uint64_t> trace_reader::times() const {
  if (cursors_.empty()) return {0, 0};
  std::pair<std::uint64_t, std::uint64_t> times{UINT64_MAX, 0};
  for (const auto& each : cursors_) {  // each has a frame
    times.first = std::min(times.first, each->frames.front().header.first_time);
    times.second = std::max(times.second, each->frames.back().header.last_time);
  }
  return times;
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

/// Returns: false where there is none.
bool trace_reader::begin_next_frame(cursor& of) {
  if (of.open != nullptr) room_ += of.open->room;
  of.open.reset();  // with its memory: the next frame may need far less
  if (of.frame == of.frames.size()) return false;
  const frame_place& place = of.frames[of.frame++];
  const std::string payload = payload_of(place);
  of.open = std::make_unique<open_frame>();
  of.open->payload_at = place.payload_at;
  const std::uint64_t room = room_;
  const char* const fault =
      of.open->decoder.begin(place.header, view_of(payload), decompressor_, room_);
  if (fault != nullptr) fail(place.payload_at, fault);
  of.open->room = room - room_;
  begun_ += place.header.count;
  if (progress_) progress_(static_cast<double>(begun_) / static_cast<double>(events_));
  return true;
}

/// Requires: all before was given out. What is wrong with an event is told when it is its turn.
void trace_reader::decode_some(open_frame& from) {
  from.next = from.end = 0;
  while (from.end < from.events.size() && from.decoder.left() != 0) {
    from.fault = from.decoder.next(from.events[from.end]);
    if (from.fault != nullptr) break;
    ++from.end;
  }
  if (preview_ != nullptr) preview_->coming(std::span(from.events).first(from.end));
}

/// Effects: reads the thread's next event and its turn. Returns: false where there is none.
bool trace_reader::advance(cursor& c) {
  c.has_event = false;
  if (c.open == nullptr || c.open->next == c.open->end) {
    if (c.open != nullptr && c.open->fault != nullptr) fail(c.open->payload_at, c.open->fault);
    if ((c.open == nullptr || c.open->decoder.left() == 0) && !begin_next_frame(c)) return false;
    decode_some(*c.open);
    if (c.open->end == 0) fail(c.open->payload_at, c.open->fault);
  }
  c.next = c.open->events[c.open->next++];
  c.turn = c.next.time;
  return c.has_event = true;
}

// ---- the order over threads ----

/// Effects: it comes in its turn from now on, until advance() finds no event. Requires: it does not yet.
void trace_reader::schedule(cursor& added) {
  waiting_.push_back(&added);
  std::ranges::push_heap(waiting_,
                         [](const cursor* a, const cursor* b) { return b->comes_before(*a); });
}

trace_reader::cursor* trace_reader::unschedule() {
  std::ranges::pop_heap(waiting_,
                        [](const cursor* a, const cursor* b) { return b->comes_before(*a); });
  cursor* const first = waiting_.back();
  waiting_.pop_back();
  return first;
}

const event* trace_reader::peek() {
  if (current_ == nullptr) {
    if (waiting_.empty()) return nullptr;
    current_ = unschedule();
    // Until now only the first time was known; the first event has it.
    if (!current_->has_event) advance(*current_);
  }
  return &current_->next;
}

void trace_reader::pop() {
  cursor& popped = *current_;
  current_ = nullptr;
  if (!advance(popped)) return;
  if (waiting_.empty() || popped.comes_before(*waiting_.front())) {
    current_ = &popped;
  } else {
    schedule(popped);
  }
}

bool trace_reader::postpone(std::uint64_t ticks) {
  if (waiting_.empty()) return false;
  // It comes after current_, whose turn is not before its time: a difference, as the sum may be more than 64 bits.
  const cursor& other = *waiting_.front();
  if (other.turn - current_->next.time > ticks) return false;
  cursor& postponed = *current_;
  // The other one goes first at one time, whatever their numbers are.
  const std::uint64_t turn = other.turn + (other.thread < postponed.thread ? 0 : 1);
  if (turn < other.turn) return false;  // there is no time after its
  postponed.turn = turn;
  current_ = nullptr;
  schedule(postponed);
  return true;
}

}  // namespace ashlar::trace
