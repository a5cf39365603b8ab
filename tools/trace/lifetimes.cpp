// tools/trace/lifetimes.cpp. Layer: trace.
#include "tools/trace/lifetimes.hpp"

#include <bit>

namespace ashlar::trace {

lifetimes::lifetimes(event_source& from)
    : events_(from), patience_(clock_difference(from.ticks_per_second())) {}

void lifetimes::fill(const event& e, step& s) const {
  s = step{};
  s.kind = e.kind;
  s.thread = e.thread;
  s.time = e.time;
  s.size = e.size;
  s.alignment = e.alignment;
  s.address = e.address;
  s.stack = e.stack;
  s.text = e.text;
}

void lifetimes::birth(const event& e, step& s) {
  fill(e, s);
  s.happened = step::what::birth;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  s.slot = free_.back();
  free_.pop_back();
  const auto logarithm = e.alignment == 0 ? 0 : std::countr_zero(e.alignment) + 1;
  blocks_[s.slot] = {
      e.address, e.size, e.time, e.thread, e.stack, static_cast<std::uint8_t>(logarithm), true};
  live_.insert(e.address, s.slot);
  if (e.kind != event_kind::by_realloc) return;
  const auto given_up = given_up_.find(e.thread);
  if (given_up == given_up_.end()) return;
  s.previous = given_up->second;
  given_up_.erase(given_up);
}

void lifetimes::death(const event& e, std::uint32_t slot, step& s) {
  fill(e, s);
  s.happened = step::what::death;
  s.slot = slot;
  block& b = blocks_[slot];
  s.address = b.address;
  s.size = b.size;
  s.alignment = b.alignment == 0 ? 0 : std::uint64_t{1} << (b.alignment - 1);
  s.born_at = b.born_at;
  s.born_by = b.thread;
  s.stack = b.stack;
  b.lives = false;
  live_.erase(b.address);
  free_.push_back(slot);
}

bool lifetimes::end_next_of_image(step& s) {
  while (image_slot_ < blocks_.size() && !blocks_[image_slot_].lives) ++image_slot_;
  if (image_slot_ == blocks_.size()) return false;
  death(*events_.peek(), image_slot_, s);
  return true;
}

bool lifetimes::next(step& s) {
  if (taken_) events_.pop();
  taken_ = false;
  for (;;) {
    const event* const e = events_.peek();
    if (e == nullptr) return false;
    if (is_birth(e->kind)) {
      const std::uint32_t lives = live_.find(e->address);
      if (lives != address_map::none) {
        if (events_.postpone(patience_)) continue;
        ++missing_deaths_;
        death(*e, lives, s);
        s.kind = event_kind::lost;
        return true;
      }
      birth(*e, s);
    } else if (is_death(e->kind)) {
      const std::uint32_t slot = live_.find(e->address);
      if (slot == address_map::none && events_.postpone(patience_)) continue;
      if (e->kind == event_kind::from_realloc) given_up_[e->thread] = slot;
      if (slot != address_map::none) {
        death(*e, slot, s);
      } else {
        fill(*e, s);
        s.happened = step::what::unknown_death;
        ++unknown_deaths_;
      }
    } else {
      if (e->kind == event_kind::image && end_next_of_image(s)) return true;
      image_slot_ = 0;
      fill(*e, s);
    }
    taken_ = true;
    return true;
  }
}

}  // namespace ashlar::trace
