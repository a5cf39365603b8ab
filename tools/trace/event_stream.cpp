// tools/trace/event_stream.cpp. Layer: trace.
#include "tools/trace/event_stream.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ashlar::trace {

event_stream::event_stream(chunk_access chunks, std::uint64_t start_ticks,
                           std::uint64_t ticks_per_second)
    : chunks_(std::move(chunks)), start_ticks_(start_ticks), ticks_per_second_(ticks_per_second) {
  set_limit(0);
}

void event_stream::attach(std::uint32_t chunk_index) {
  const chunk& c = chunks_.at(chunk_index);
  thread_lane& l = lanes_.try_emplace(c.header.thread, c.header.thread, start_ticks_).first->second;
  if (l.chunks.empty()) l.events.begin(c);
  l.chunks.push_back(chunk_index);
}

bool event_stream::is_final(const thread_lane& of) const {
  return image_ended_ || of.chunks.size() > 1 || chunks_.is_final(of.chunks.front());
}

bool event_stream::advance(lane& of) {
  of.has_event = false;
  if (&of == &own_) return false;
  auto& l = static_cast<thread_lane&>(of);
  while (!l.chunks.empty()) {
    if (!l.events.next(l.next)) {
      if (!is_final(l)) return false;
      // Only now it is known that no more will come; something may have come before.
      if (!l.events.next(l.next)) {
        chunks_.give_back(l.chunks.front());
        l.chunks.pop_front();
        if (!l.chunks.empty()) l.events.begin(chunks_.at(l.chunks.front()));
        continue;
      }
    }
    l.turn = l.next.time;
    last_time_ = std::max(last_time_, l.turn);
    return l.has_event = true;
  }
  return false;
}

/// Effects: threads of which nothing more was there take part again if there is. Their events count as not before `earliest`.
void event_stream::look_again(std::uint64_t earliest) {
  for (auto at = lanes_.begin(); at != lanes_.end();) {
    thread_lane& l = at->second;
    if (!l.has_event) {
      l.events.not_before(earliest);
      if (advance(l)) schedule(l);
    }
    // A thread that was just between two chunks comes again, and its events not before what was given out.
    at = l.chunks.empty() ? lanes_.erase(at) : std::next(at);
  }
}

void event_stream::know_until(std::uint64_t time) {
  const std::uint64_t earliest = limit();
  // Once for what this clock and a thread's may differ, once for what postpone() looks ahead.
  const std::uint64_t unsure = 2 * clock_difference(ticks_per_second_);
  set_limit(std::max(limit(), time - std::min(time, unsure)));
  look_again(earliest);
}

void event_stream::end_image() {
  const std::uint64_t earliest = limit();
  image_ended_ = true;
  set_limit(UINT64_MAX);
  look_again(earliest);
}

void event_stream::tell(event_kind kind, std::uint64_t number, std::string text) {
  own_text_ = std::move(text);
  own_.thread = 0;  // it comes first
  own_.turn = last_time_;
  own_.next = {kind, 1, 0, last_time_, 0, number, 0, own_text_};
  own_.has_event = true;
  image_ended_ = false;
  set_limit(last_time_);
  schedule(own_);
}

std::uint64_t event_stream::held() const {
  std::uint64_t earliest = UINT64_MAX;
  for (const auto& [thread, l] : lanes_) {
    if (l.chunks.empty()) continue;
    const std::uint32_t last = l.chunks.back();
    const std::uint64_t ticks = chunks_.at(last).header.held.load(std::memory_order_acquire);
    if (ticks == 0 || chunks_.is_final(last)) continue;
    earliest = std::min(earliest, ticks - std::min(ticks, start_ticks_));
  }
  return earliest;
}

}  // namespace ashlar::trace
