// tools/report/timeline.hpp: what lived over time, in a bounded number of points. Layer: report.
//
// Of each interval the point with the most live bytes is kept, with the bytes of each layer at that very moment: a peak is
// never lost, however short it was. A layer is what some of the blocks have in common: a class, a call stack. There may be
// many of them, so a layer has an entry only for an interval in which it changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/trace/step_counts.hpp"

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

  /// `length`: ticks from the first event to the last one.
  explicit timeline(std::uint64_t length) : width_(length / most_points + 1) {}

  /// Effects: there is one layer more, without bytes. Returns: its index.
  std::size_t add_layer();

  /// Effects: what is added from now on happens at `time`. Requires: times do not go back, but by what clocks differ.
  void go_to(std::uint64_t time) {
    if (time / width_ > open_) pass_to(time);
    now_ = time > now_ ? time : now_;
  }
  /// Effects: so many bytes more live in the layer. `reach` follows, when all layers of the step are told.
  void add(std::size_t layer, std::int64_t bytes);
  /// Effects: the heap is now in this state.
  void reach(const heap_state& state) {
    state_ = state;
    if (state.bytes <= best_.state.bytes) return;
    best_ = {now_, state};
    bytes_.mark();
  }
  /// Effects: ends the open interval. Requires: nothing is called after it but what is const.
  void close() { close_open(); }

  [[nodiscard]] std::uint64_t interval_ticks() const { return width_; }
  [[nodiscard]] const std::vector<point>& points() const { return points_; }
  [[nodiscard]] std::size_t layers() const { return courses_.size(); }
  /// Returns: the bytes of a layer in each point. Requires: close() was called.
  [[nodiscard]] std::vector<std::int64_t> course(std::size_t layer) const;

 private:
  struct entry {
    std::uint32_t interval = 0;
    std::int64_t kept = 0;  // at the interval's point
    std::int64_t last = 0;  // at its end
  };
  struct layer_course {
    std::vector<entry> entries;
    bool is_touched = false;  // in the open interval
  };
  void pass_to(std::uint64_t time);
  void close_open();
  void open_next();
  void touch(std::size_t layer);

  std::uint64_t width_;
  std::uint64_t open_ = 0;  // number of the open interval == points_.size() while it is open
  std::uint64_t now_ = 0;
  heap_state state_;
  point best_;  // of the open interval
  trace::marked_counts bytes_{0};
  std::vector<layer_course> courses_;
  std::vector<std::size_t> touched_;  // layers, in the open interval
  std::vector<point> points_;
};

}  // namespace ashlar::report
