// tools/report/timeline.cpp. Layer: report.
#include "tools/report/timeline.hpp"

namespace ashlar::report {

std::size_t timeline::add_layer() {
  courses_.emplace_back();
  return bytes_.add_count();
}

void timeline::add(std::size_t layer, std::int64_t bytes) {
  bytes_.add(layer, bytes);
  touch(layer);
}

void timeline::touch(std::size_t layer) {
  if (courses_[layer].is_touched) return;
  courses_[layer].is_touched = true;
  touched_.push_back(layer);
}

std::vector<std::int64_t> timeline::course(std::size_t layer) const {
  std::vector<std::int64_t> all;
  all.reserve(points_.size());
  std::int64_t last = 0;
  for (const entry& e : courses_[layer].entries) {
    all.resize(e.interval, last);
    all.push_back(e.kept);
    last = e.last;
  }
  all.resize(points_.size(), last);
  return all;
}

void timeline::pass_to(std::uint64_t time) {
  while (time / width_ >= most_points) halve();
  while (time / width_ > open_) {
    close_open();
    open_next();
  }
}

void timeline::close_open() {
  points_.push_back(best_);
  for (const std::size_t layer : touched_) {
    layer_course& course = courses_[layer];
    course.is_touched = false;
    std::vector<entry>& entries = course.entries;
    if (entries.empty() || entries.back().interval != open_) {
      const std::int64_t before = entries.empty() ? 0 : entries.back().last;
      entries.push_back({static_cast<std::uint32_t>(open_), before, before});
    }
    if (best_is_marked_) entries.back().kept = bytes_.at_mark(layer);
    entries.back().last = bytes_.now(layer);
  }
  touched_.clear();
}

// What lives when an interval begins is its first point.
void timeline::open_next() {
  ++open_;
  best_ = {open_ * width_, state_};
  best_is_marked_ = true;
  bytes_.mark();
}

void timeline::halve() {
  close_open();
  const std::size_t pairs = (points_.size() + 1) / 2;
  std::vector<bool> second_is_kept(pairs);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const std::size_t first = 2 * pair;
    second_is_kept[pair] =
        first + 1 < points_.size() && points_[first + 1].state.bytes > points_[first].state.bytes;
    points_[pair] = points_[first + (second_is_kept[pair] ? 1 : 0)];
  }
  for (layer_course& course : courses_) halve(course, second_is_kept);
  // The last one is open again.
  width_ *= 2;
  open_ = pairs - 1;
  best_ = points_[open_];
  best_is_marked_ = false;
  points_.resize(open_);
  for (std::size_t layer = 0; layer < courses_.size(); ++layer)
    if (const auto& entries = courses_[layer].entries;
        !entries.empty() && entries.back().interval == open_)
      touch(layer);
}

void timeline::halve(layer_course& course, const std::vector<bool>& second_is_kept) {
  std::vector<entry>& entries = course.entries;
  std::size_t kept = 0;
  std::int64_t before = 0;  // what lived when the pair began
  for (std::size_t i = 0; i < entries.size();) {
    const std::uint32_t pair = entries[i].interval / 2;
    // An interval without an entry is as the one before it ended.
    entry first{2 * pair, before, before};
    if (entries[i].interval == first.interval) first = entries[i++];
    entry second{first.interval + 1, first.last, first.last};
    if (i < entries.size() && entries[i].interval == second.interval) second = entries[i++];
    entries[kept++] = {pair, second_is_kept[pair] ? second.kept : first.kept, second.last};
    before = second.last;
  }
  entries.resize(kept);
}

}  // namespace ashlar::report
