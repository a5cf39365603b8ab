// tools/trace/lifetimes.cpp. Layer: trace.
#include "tools/trace/lifetimes.hpp"

#include <bit>

namespace ashlar::trace {

lifetimes::lifetimes(trace_reader& from)
    : events_(from), patience_(clock_difference(from.ticks_per_second())) {
  events_.tell_ahead(this);
}

lifetimes::~lifetimes() { events_.tell_ahead(nullptr); }

void lifetimes::coming(std::span<const event> events) {
  for (const event& e : events) live_.prefetch(e.address);
  // By now the first entries are there. Births take the slots that died last, which are near.
  for (const event& e : events) {
    if (!is_death(e.kind)) continue;
    const std::uint32_t slot = live_.likely_slot(e.address);
    if (slot == address_map::none) continue;
    const auto* const bytes = reinterpret_cast<const char*>(&blocks_[slot]);
    __builtin_prefetch(bytes);
    __builtin_prefetch(bytes + sizeof(block) - 1);  // it may lie on two cache lines
  }
}

address_map::place lifetimes::place_of(std::uint64_t address) const {
  return live_.find(
      address, [this, address](std::uint32_t slot) { return blocks_[slot].address == address; });
}

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

void lifetimes::birth(const event& e, address_map::place at, step& s) {
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
  live_.insert(at, e.address, s.slot);
  if (e.kind != event_kind::by_realloc) return;
  const auto given_up = given_up_.find(e.thread);
  if (given_up == given_up_.end()) return;
  s.previous = given_up->second;
  given_up_.erase(given_up);
}

void lifetimes::death(const event& e, address_map::place at, step& s) {
  fill(e, s);
  s.happened = step::what::death;
  s.slot = at.slot;
  block& b = blocks_[at.slot];
  s.address = b.address;
  s.size = b.size;
  s.alignment = b.alignment == 0 ? 0 : std::uint64_t{1} << (b.alignment - 1);
  s.born_at = b.born_at;
  s.born_by = b.thread;
  s.stack = b.stack;
  b.lives = false;
  live_.erase(at);
  free_.push_back(at.slot);
}

void lifetimes::note(const event& e, address_map::place at, step& s) const {
  fill(e, s);
  if (at.slot == address_map::none) return;
  const block& b = blocks_[at.slot];
  s.slot = at.slot;
  s.stack = b.stack;
  s.born_at = b.born_at;
  s.block_bytes = b.size;
  s.size = std::min(s.size, b.size);  // a damaged trace may say anything
}

bool lifetimes::end_next_of_image(step& s) {
  while (image_slot_ < blocks_.size() && !blocks_[image_slot_].lives) ++image_slot_;
  if (image_slot_ < blocks_.size()) {
    death(*events_.peek(), place_of(blocks_[image_slot_].address), s);
    return true;
  }
  // Slots begin anew, so that the next image's end looks at its own slots only.
  slots_before_ = slots();
  blocks_.clear();
  free_.clear();
  image_slot_ = 0;
  return false;
}

bool lifetimes::next(step& s) {
  if (taken_) events_.pop();
  taken_ = false;
  for (;;) {
    const event* const e = events_.peek();
    if (e == nullptr) return false;
    if (is_birth(e->kind)) {
      const address_map::place at = place_of(e->address);
      if (at.slot != address_map::none) {
        if (events_.postpone(patience_)) continue;
        ++missing_deaths_;
        death(*e, at, s);
        s.kind = event_kind::lost;
        return true;
      }
      birth(*e, at, s);
    } else if (is_death(e->kind)) {
      const address_map::place at = place_of(e->address);
      if (at.slot == address_map::none && events_.postpone(patience_)) continue;
      if (e->kind == event_kind::from_realloc) given_up_[e->thread] = at.slot;
      if (at.slot != address_map::none) {
        death(*e, at, s);
      } else {
        fill(*e, s);
        s.happened = step::what::unknown_death;
        ++unknown_deaths_;
      }
    } else if (is_note(e->kind)) {
      const address_map::place at = place_of(e->address);
      if (at.slot == address_map::none && events_.postpone(patience_)) continue;
      note(*e, at, s);
    } else {
      if (e->kind == event_kind::image && end_next_of_image(s)) return true;
      fill(*e, s);
    }
    taken_ = true;
    return true;
  }
}

void program_course::count(const step& s) {
  if (s.kind != event_kind::image || s.happened != step::what::other) return;
  trace_header& added = all_.emplace_back(s.time, last()).second;
  added.set(header_name::arguments, s.text);
  added.set(header_name::program, s.text.substr(0, s.text.find('\0')));
  added.set(header_name::parent, "");  // nothing is left of what was before
  added.set(header_name::attached, "");
}

const trace_header& program_course::at(std::uint64_t time) const {
  const auto behind = std::find_if(all_.begin() + 1, all_.end(),
                                   [&](const auto& each) { return each.first > time; });
  return std::prev(behind)->second;
}

}  // namespace ashlar::trace
