// tools/trace/merged_events.cpp. Layer: trace.
#include "tools/trace/merged_events.hpp"

#include <algorithm>

namespace ashlar::trace {

void merged_events::schedule(lane& added) {
  waiting_.push_back(&added);
  std::ranges::push_heap(waiting_,
                         [](const lane* a, const lane* b) { return b->comes_before(*a); });
}

merged_events::lane* merged_events::unschedule() {
  std::ranges::pop_heap(waiting_, [](const lane* a, const lane* b) { return b->comes_before(*a); });
  lane* const first = waiting_.back();
  waiting_.pop_back();
  return first;
}

const event* merged_events::peek() {
  if (current_ == nullptr) {
    if (waiting_.empty()) return nullptr;
    current_ = unschedule();
    // Until now only the first time was known; the first event has it.
    if (!current_->has_event) advance(*current_);
  }
  return &current_->next;
}

void merged_events::pop() {
  lane& popped = *current_;
  current_ = nullptr;
  if (!advance(popped)) return;
  if (waiting_.empty() || popped.comes_before(*waiting_.front())) {
    current_ = &popped;
  } else {
    schedule(popped);
  }
}

bool merged_events::postpone(std::uint64_t ticks) {
  if (waiting_.empty()) return false;
  // It comes after current_, whose turn is not before its time: a difference, as the sum may be more than 64 bits.
  const lane& other = *waiting_.front();
  if (other.turn - current_->next.time > ticks) return false;
  lane& postponed = *current_;
  // The other one goes first at one time, whatever their numbers are.
  const std::uint64_t turn = other.turn + (other.thread < postponed.thread ? 0 : 1);
  if (turn < other.turn) return false;  // there is no time after its
  postponed.turn = turn;
  current_ = nullptr;
  schedule(postponed);
  return true;
}

}  // namespace ashlar::trace
