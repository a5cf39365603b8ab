// tools/report/timeline.cpp. Layer: report.
#include "tools/report/timeline.hpp"

#include <algorithm>

namespace ashlar::report {

void timeline::pass_to(std::uint64_t time) {
  while (time / width_ >= most_points) halve();
  while (time / width_ > open_) {
    close_open();
    open_next();
  }
}

void timeline::close_open() {
  points_.push_back(best_);
  if (best_is_marked_) {
    for (std::size_t i = 0; i < layers_.size(); ++i) rows_.push_back(layers_.at_mark(i));
  } else {
    rows_.insert(rows_.end(), kept_.begin(), kept_.end());
  }
}

// What lives when an interval begins is its first point.
void timeline::open_next() {
  ++open_;
  best_ = {open_ * width_, state_};
  best_is_marked_ = true;
  layers_.mark();
}

void timeline::halve() {
  close_open();
  const std::size_t classes = layers_.size();
  const std::size_t pairs = (points_.size() + 1) / 2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    std::size_t from = 2 * pair;
    if (from + 1 < points_.size() && points_[from + 1].state.bytes > points_[from].state.bytes)
      ++from;
    points_[pair] = points_[from];
    std::copy_n(rows_.begin() + static_cast<std::ptrdiff_t>(from * classes), classes,
                rows_.begin() + static_cast<std::ptrdiff_t>(pair * classes));
  }
  // The last one is open again.
  best_ = points_[pairs - 1];
  kept_.assign(rows_.begin() + static_cast<std::ptrdiff_t>((pairs - 1) * classes),
               rows_.begin() + static_cast<std::ptrdiff_t>(pairs * classes));
  best_is_marked_ = false;
  points_.resize(pairs - 1);
  rows_.resize((pairs - 1) * classes);
  width_ *= 2;
  open_ = pairs - 1;
}

}  // namespace ashlar::report
