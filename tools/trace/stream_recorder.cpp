// tools/trace/stream_recorder.cpp. Layer: trace.
#include "tools/trace/stream_recorder.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace ashlar::trace {

struct stream_recorder::stream {
  std::uint32_t image;  // index of the process
  event_stream events;
  std::unique_ptr<stream_reader> reader;
};

stream_recorder::stream_recorder(open_reader open) : recorder(0), open_(std::move(open)) {}

stream_recorder::~stream_recorder() = default;

/// Effects: what threads write into is found, and waits for its process's turn.
void stream_recorder::find_chunks() {
  std::vector<std::uint32_t> found;
  // A thread may have filled a chunk that had been passed when it took it, and then one that was still to come. It had
  // that one before: once nothing new is found, there is nothing that comes before what was found.
  for (bool is_complete = false; !is_complete;) {
    is_complete = true;
    const std::uint32_t count = chunks();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (is_found_[i] || state_of(i) == chunk_state::free) continue;
      process* const owner = owner_of(i);
      if (owner == nullptr) continue;
      if (chunk_at(i).header.thread == 0) {  // a description
        if (state_of(i) != chunk_state::sealed && !owner->ended) continue;
        describe(*owner, chunk_at(i));
        free(i);
        continue;
      }
      is_found_[i] = true;
      found.push_back(i);
      is_complete = false;
    }
  }
  sort(found);
  for (const std::uint32_t i : found) waiting_[owner_of(i)->index].push_back(i);
}

void stream_recorder::find_left_chunks() {
  const std::uint32_t count = chunks();
  for (std::uint32_t i = 0; i < count; ++i)
    is_left_[i] = is_found_[i] && state_of(i) == chunk_state::taken && is_left(i);
}

void stream_recorder::give_back(std::uint32_t chunk_index) {
  ++given_back_;
  beat();
  if (finished_) return;  // one that still runs may be writing there
  is_found_[chunk_index] = false;
  is_left_[chunk_index] = false;
  free(chunk_index);
}

/// Effects: the process is read from this image on, if it is not read yet.
void stream_recorder::begin_stream(std::uint32_t image) {
  const std::uint32_t pid = processes()[image]->pid;
  std::unique_ptr<stream>& s = streams_[pid];
  if (s != nullptr) return;
  chunk_access access{
      [this](std::uint32_t i) -> const chunk& { return chunk_at(i); },
      [this](std::uint32_t i) { return is_left_[i] || state_of(i) == chunk_state::sealed; },
      [this](std::uint32_t i) { give_back(i); },
  };
  s = std::unique_ptr<stream>(new stream{
      image, event_stream(std::move(access), start_ticks(), ticks_per_second()), nullptr});
  s->reader = open_(pid, s->events);
  if (pid == program()) program_was_read_ = true;
}

/// Effects: a program that told nothing is read, too: that it was recorded is a result.
void stream_recorder::begin_silent_program() {
  if (program_was_read_) return;
  const auto first =
      std::ranges::find_if(processes(), [this](const auto& p) { return p->pid == program(); });
  if (first != processes().end()) begin_stream((*first)->index);
}

void stream_recorder::attach_waiting(stream& to) {
  const auto found = waiting_.find(to.image);
  if (found == waiting_.end()) return;
  for (const std::uint32_t i : found->second) to.events.attach(i);
  waiting_.erase(found);
}

/// Requires: the chunks were looked for after `time`.
void stream_recorder::read_until(stream& of, std::uint64_t time) {
  attach_waiting(of);
  // A thread that stands still in the middle of a realloc keeps what comes after it back, but no longer than a second.
  const std::uint64_t second_ago = time - std::min(time, ticks_per_second());
  of.events.know_until(std::max(std::min(time, of.events.held()), second_ago));
  of.reader->read();
}

/// Requires: the image has ended, and its chunks were looked for since.
void stream_recorder::read_all(stream& of) {
  attach_waiting(of);
  of.events.end_image();
  of.reader->read();
  const std::uint32_t lost = lost_by(*processes()[of.image]);
  if (lost == 0) return;
  of.events.tell(event_kind::lost, lost, {});
  of.reader->read();
}

bool stream_recorder::go_to_next_image(stream& of) {
  if (!was_replaced(*processes()[of.image])) return false;
  read_all(of);
  const std::uint32_t pid = processes()[of.image]->pid;
  do {
    ++of.image;
  } while (processes()[of.image]->pid != pid);
  of.events.tell(event_kind::image, 0, processes()[of.image]->arguments);
  of.reader->read();
  return true;
}

std::size_t stream_recorder::drain() {
  const bool looks_for_the_dead = is_time_to_look_for_the_dead() || finished_;
  beat();
  given_back_ = 0;
  const std::uint64_t time = now();
  // What was told before that is seen from here on.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  learn_processes();
  if (looks_for_the_dead) look_for_the_dead();
  find_chunks();
  if (looks_for_the_dead) find_left_chunks();
  for (const auto& [image, chunk_indices] : waiting_) begin_stream(image);
  if (finished_) begin_silent_program();
  for (auto at = streams_.begin(); at != streams_.end();) {
    stream& s = *at->second;
    while (go_to_next_image(s)) {
    }
    const bool ended = finished_ || processes()[s.image]->ended;
    if (ended) {
      read_all(s);
      s.reader->end();
    } else {
      read_until(s, time);
    }
    at = ended ? streams_.erase(at) : std::next(at);
  }
  return given_back_;
}

void stream_recorder::finish() {
  stop();
  finished_ = true;
  drain();
}

}  // namespace ashlar::trace
