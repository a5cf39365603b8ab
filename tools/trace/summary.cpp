// tools/trace/summary.cpp. Layer: trace.
#include "tools/trace/summary.hpp"

#include <algorithm>
#include <bit>

#include "tools/trace/lifetimes.hpp"

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

/// The figures of each size. Those of small ones, which nearly all are, are found without a search.
class figures_by_size {
 public:
  explicit figures_by_size(trace_summary& into) : all_(into.sizes), near_(near_sizes) {}
  size_figures& of(std::uint64_t size) {
    if (size >= near_sizes) return all_[size];
    size_figures*& known = near_[static_cast<std::size_t>(size)];
    if (known == nullptr) known = &all_[size];
    return *known;
  }

 private:
  static constexpr std::size_t near_sizes = 4096;

  std::map<std::uint64_t, size_figures>& all_;
  std::vector<size_figures*> near_;
};

/// For each stack, what lived at the peak, without a copy of all at each new peak: a stack's figure is taken when it changes
/// for the first time after a peak.
class peak_by_stack {
 public:
  explicit peak_by_stack(trace_summary& into) : into_(into) {}
  void new_peak() { ++peak_; }
  void birth(std::uint32_t stack, std::uint64_t bytes) {
    stack_figures& figures = changing(stack);
    ++figures.births;
    figures.bytes += bytes;
    ++figures.live_blocks;
    figures.live_bytes += bytes;
  }
  void death(std::uint32_t stack, std::uint64_t bytes) {
    stack_figures& figures = changing(stack);
    --figures.live_blocks;
    figures.live_bytes -= bytes;
  }
  void finish() {
    for (auto& [stack, s] : states_) settle(s);
  }

 private:
  struct state {
    std::uint64_t seen = 0;  // the last peak up to which at_peak_bytes is right
    stack_figures* figures = nullptr;
  };
  void settle(state& s) const {
    if (s.seen == peak_) return;
    s.seen = peak_;
    s.figures->at_peak_bytes = s.figures->live_bytes;
  }
  stack_figures& changing(std::uint32_t stack) {
    state& s = states_[stack];
    if (s.figures == nullptr) s.figures = &into_.stacks[stack];
    settle(s);
    return *s.figures;
  }

  trace_summary& into_;
  std::uint64_t peak_ = 0;
  std::unordered_map<std::uint32_t, state> states_;
};

/// How many powers of ten of a microsecond a lifetime has reached, seven at most.
std::size_t decade_of(std::uint64_t ticks, double ticks_per_microsecond) {
  std::size_t decade = 0;
  for (double limit = ticks_per_microsecond; decade < 7 && static_cast<double>(ticks) >= limit;
       limit *= 10)
    ++decade;
  return decade;
}

}  // namespace

trace_summary summarise(trace_reader& from, std::size_t moments) {
  trace_summary all;
  lifetimes steps(from);
  moment_series series(moments);
  figures_by_size sizes(all);
  peak_by_stack peaks(all);
  bool first = true;
  const double ticks_per_microsecond = static_cast<double>(from.header().ticks_per_second()) / 1e6;
  const auto lived = [&](std::uint64_t ticks) {
    ++all.lifetimes[static_cast<std::size_t>(std::bit_width(ticks))];
    ++all.lifetimes_by_decade[decade_of(ticks, ticks_per_microsecond)];
  };
  for (step s; steps.next(s);) {
    if (first) all.first_time = s.time;
    first = false;
    all.last_time = std::max(all.last_time, s.time);
    const bool is_peak = all.count(s);
    switch (s.happened) {
      case step::what::birth: {
        ++all.events[static_cast<std::size_t>(s.kind)];
        size_figures& size = sizes.of(s.size);
        ++size.births;
        size.peak = std::max(size.peak, ++size.live);
        if (s.alignment != 0) ++all.alignments[s.alignment];
        if (s.stack != 0) peaks.birth(s.stack, s.size);
        if (is_peak) peaks.new_peak();
        break;
      }
      case step::what::death:
        if (is_death(s.kind)) ++all.events[static_cast<std::size_t>(s.kind)];
        lived(s.time - std::min(s.time, s.born_at));
        --sizes.of(s.size).live;
        if (s.stack != 0) peaks.death(s.stack, s.size);
        break;
      case step::what::unknown_death:
      case step::what::other:
        ++all.events[static_cast<std::size_t>(s.kind)];
        break;
    }
    series.add(s.time, all.live_bytes, all.live_blocks);
  }
  peaks.finish();
  all.unknown_deaths = steps.unknown_deaths();
  all.missing_deaths = steps.missing_deaths();
  all.over_time = series.all();
  return all;
}

}  // namespace ashlar::trace
