// tools/trace/summary.cpp. Layer: trace.
#include "tools/trace/summary.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace ashlar::trace {
namespace {

/// Peaks of stretches of equal length. How long the trace is, is not known before its end: when there are too many, two
/// become one.
class moment_series {
 public:
  explicit moment_series(std::size_t most) : most_(std::max<std::size_t>(2, most)) {}

  void add(std::uint64_t time, std::uint64_t bytes, std::uint64_t blocks) {
    if (points_.empty()) begin_ = time;
    time = std::max(time, begin_);
    while ((time - begin_) / width_ >= most_) halve();
    const auto place = static_cast<std::size_t>((time - begin_) / width_);
    // What lived at the end of one stretch lives at the begin of the next.
    while (points_.size() <= place) points_.push_back({0, last_.bytes, last_.blocks});
    points_[place].bytes = std::max(points_[place].bytes, bytes);
    points_[place].blocks = std::max(points_[place].blocks, blocks);
    last_ = {0, bytes, blocks};
  }
  std::vector<moment_figures> all() {
    for (std::size_t i = 0; i < points_.size(); ++i) points_[i].end = begin_ + (i + 1) * width_;
    return points_;
  }

 private:
  void halve() {
    for (std::size_t i = 0; 2 * i < points_.size(); ++i) {
      const moment_figures& a = points_[2 * i];
      const moment_figures& b = points_[std::min(2 * i + 1, points_.size() - 1)];
      points_[i] = {0, std::max(a.bytes, b.bytes), std::max(a.blocks, b.blocks)};
    }
    points_.resize((points_.size() + 1) / 2);
    width_ *= 2;
  }

  std::size_t most_;
  std::uint64_t begin_ = 0;
  std::uint64_t width_ = 1;
  moment_figures last_;
  std::vector<moment_figures> points_;
};

/// For each stack, what lived at the peak, without a copy of all at each new peak: a stack's figure is taken when it changes
/// for the first time after a peak.
class peak_by_stack {
 public:
  explicit peak_by_stack(trace_summary& into) : into_(into) {}
  void new_peak() { ++peak_; }
  void change(std::uint32_t stack, std::int64_t bytes) {
    state& s = states_[stack];
    stack_figures& figures = into_.stacks[stack];
    settle(s, figures);
    figures.live_bytes += static_cast<std::uint64_t>(bytes);
  }
  void finish() {
    for (auto& [stack, s] : states_) settle(s, into_.stacks[stack]);
  }

 private:
  struct state {
    std::uint64_t seen = 0;  // the last peak up to which at_peak_bytes is right
  };
  void settle(state& s, stack_figures& figures) const {
    if (s.seen == peak_) return;
    s.seen = peak_;
    figures.at_peak_bytes = figures.live_bytes;
  }

  trace_summary& into_;
  std::uint64_t peak_ = 0;
  std::unordered_map<std::uint32_t, state> states_;
};

}  // namespace

trace_summary summarise(trace_reader& from, std::size_t moments) {
  trace_summary all;
  lifetimes steps(from);
  moment_series series(moments);
  peak_by_stack peaks(all);
  std::unordered_set<std::uint32_t> threads;
  std::uint32_t last_thread = 0;
  bool first = true;
  for (step s; steps.next(s);) {
    if (first) all.first_time = s.time;
    first = false;
    all.last_time = std::max(all.last_time, s.time);
    if (s.thread != last_thread) threads.insert(last_thread = s.thread);
    switch (s.happened) {
      case step::what::birth: {
        ++all.events[static_cast<std::size_t>(s.kind)];
        ++all.births;
        all.birth_bytes += s.size;
        size_figures& size = all.sizes[s.size];
        ++size.births;
        size.peak = std::max(size.peak, ++size.live);
        if (s.alignment != 0) ++all.alignments[s.alignment];
        if (++all.live_blocks > all.peak_blocks) {
          all.peak_blocks = all.live_blocks;
          all.peak_blocks_time = s.time;
        }
        if (s.stack != 0) {
          peaks.change(s.stack, static_cast<std::int64_t>(s.size));
          stack_figures& stack = all.stacks[s.stack];
          ++stack.births;
          stack.bytes += s.size;
        }
        all.live_bytes += s.size;
        if (all.live_bytes > all.peak_bytes) {
          all.peak_bytes = all.live_bytes;
          all.peak_bytes_time = s.time;
          peaks.new_peak();
        }
        break;
      }
      case step::what::death:
        if (is_death(s.kind)) ++all.events[static_cast<std::size_t>(s.kind)];
        ++all.deaths;
        all.cross_thread_deaths += s.born_by != s.thread;
        ++all.lifetimes[static_cast<std::size_t>(
            std::bit_width(s.time - std::min(s.time, s.born_at)))];
        --all.sizes[s.size].live;
        if (s.stack != 0) peaks.change(s.stack, -static_cast<std::int64_t>(s.size));
        --all.live_blocks;
        all.live_bytes -= s.size;
        break;
      case step::what::unknown_death:
        ++all.events[static_cast<std::size_t>(s.kind)];
        break;
      case step::what::other:
        ++all.events[static_cast<std::size_t>(s.kind)];
        if (s.kind == event_kind::lost) all.lost += s.size;
        break;
    }
    series.add(s.time, all.live_bytes, all.live_blocks);
  }
  peaks.finish();
  all.threads = threads.size();
  all.unknown_deaths = steps.unknown_deaths();
  all.missing_deaths = steps.missing_deaths();
  all.over_time = series.all();
  return all;
}

}  // namespace ashlar::trace
