// tools/report/timeline.cpp. Layer: report.
#include "tools/report/timeline.hpp"

#include <algorithm>

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
  // Threads' clocks differ by a little.
  const std::uint64_t interval = std::min<std::uint64_t>(time / width_, most_points - 1);
  while (interval > open_) {
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
    entries.back().kept = bytes_.at_mark(layer);
    entries.back().last = bytes_.now(layer);
  }
  touched_.clear();
}

// What lives when an interval begins is its first point.
void timeline::open_next() {
  ++open_;
  best_ = {open_ * width_, state_};
  bytes_.mark();
}

}  // namespace ashlar::report
