// tools/report/timeline.hpp: what lived over time, in a bounded number of points. Layer: report.
//
//   | interval 0 | interval 1 | ... | open |        when there are too many, each two become one of twice the width
//
// Of each interval the point with the most live bytes is kept, with the bytes of each class at that very moment: a peak is
// never lost, however short it was, and the classes' bytes add up to the live bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/trace/marked_counts.hpp"

namespace ashlar::report {

struct heap_state {
  std::uint64_t bytes = 0;  ///< that were asked for
  std::uint64_t blocks = 0;
  std::array<std::uint64_t, 2> slack{};  ///< in the process heap's classes, in the chosen ones
};

class timeline {
 public:
  static constexpr std::size_t most_points = 1024;

  struct point {
    std::uint64_t time = 0;  ///< ticks
    heap_state state;
  };

  explicit timeline(std::size_t classes) : layers_(classes) {}

  /// Effects: what is added from now on happens at `time`. Requires: times do not go back, but by what clocks differ.
  void go_to(std::uint64_t time) {
    if (time / width_ > open_) pass_to(time);
    now_ = time > now_ ? time : now_;
  }
  /// Effects: the heap is now in this state, to which class `index` contributed so many bytes.
  void change(const heap_state& state, std::size_t index, std::int64_t bytes) {
    layers_.add(index, bytes);
    state_ = state;
    if (state.bytes <= best_.state.bytes) return;
    best_ = {now_, state};
    best_is_marked_ = true;
    layers_.mark();
  }
  /// Effects: ends the open interval. Requires: nothing is called after it but what is const.
  void close() { close_open(); }

  [[nodiscard]] std::uint64_t interval_ticks() const { return width_; }
  [[nodiscard]] const std::vector<point>& points() const { return points_; }
  [[nodiscard]] std::int64_t layer(std::size_t of_point, std::size_t index) const {
    return rows_[of_point * layers_.size() + index];
  }

 private:
  void pass_to(std::uint64_t time);
  void close_open();
  void open_next();
  void halve();

  std::uint64_t width_ = 1;
  std::uint64_t open_ = 0;  // number of the open interval == points_.size() while it is open
  std::uint64_t now_ = 0;
  heap_state state_;
  point best_;                  // of the open interval
  bool best_is_marked_ = true;  // its classes are those at the mark; otherwise those in kept_
  trace::marked_counts layers_;
  std::vector<std::int64_t> kept_;
  std::vector<point> points_;
  std::vector<std::int64_t> rows_;
};

}  // namespace ashlar::report
