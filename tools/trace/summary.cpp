// tools/trace/summary.cpp. Layer: trace.
#include "tools/trace/summary.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "tools/trace/lifetimes.hpp"

namespace ashlar::trace {
namespace {

/// Peaks of stretches of equal length.
class moment_series {
 public:
  /// `times`: of the first and the last event.
  moment_series(std::size_t most, std::pair<std::uint64_t, std::uint64_t> times)
      : most_(std::max<std::size_t>(1, most)),
        begin_(times.first),
        width_((times.second - begin_) / most_ + 1) {}

  void add(std::uint64_t time, std::uint64_t bytes, std::uint64_t blocks) {
    const auto stretch = static_cast<std::size_t>((std::max(time, begin_) - begin_) / width_);
    const std::size_t place = std::min(stretch, most_ - 1);
    // What lived at the end of one stretch lives at the begin of the next.
    while (points_.size() <= place)
      points_.push_back({begin_ + (points_.size() + 1) * width_, last_.bytes, last_.blocks});
    points_[place].bytes = std::max(points_[place].bytes, bytes);
    points_[place].blocks = std::max(points_[place].blocks, blocks);
    last_ = {0, bytes, blocks};
  }
  std::vector<moment_figures>& all() { return points_; }

 private:
  std::size_t most_;
  std::uint64_t begin_, width_;
  moment_figures last_;
  std::vector<moment_figures> points_;
};

/// What lived at the peak, of each size and stack, without a copy of all at each new peak: a figure is taken when it
/// changes for the first time after a peak.
class peak_number {
 public:
  void new_peak() { ++now_; }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  /// Effects: brings `at_peak` up to date. Requires: called before `live` changes, and at the end. `seen` is 0 at first.
  void settle(std::uint64_t& seen, std::uint64_t live, std::uint64_t& at_peak) const {
    if (seen == now_) return;
    seen = now_;
    at_peak = live;
  }

 private:
  std::uint64_t now_ = 0;
};

/// The figures of each size. Those of small ones, which nearly all are, are found without a search.
class figures_by_size {
 public:
  figures_by_size(trace_summary& into, const peak_number& peak)
      : all_(into.sizes), peak_(peak), near_(near_sizes) {}
  void birth(std::uint64_t size) {
    size_figures& figures = changing(size);
    ++figures.births;
    figures.peak = std::max(figures.peak, ++figures.live);
  }
  void death(std::uint64_t size, bool is_temporary) {
    size_figures& figures = changing(size);
    --figures.live;
    figures.temporaries += is_temporary ? 1 : 0;
  }
  void finish() {
    for (auto& [size, figures] : all_) changing(size);
  }

 private:
  static constexpr std::size_t near_sizes = 4096;
  struct state {
    std::uint64_t seen = 0;
    size_figures* figures = nullptr;
  };
  size_figures& changing(std::uint64_t size) {
    state& s = size < near_sizes ? near_[static_cast<std::size_t>(size)] : far_[size];
    if (s.figures == nullptr) s.figures = &all_[size];
    peak_.settle(s.seen, s.figures->live, s.figures->at_peak);
    return *s.figures;
  }

  std::map<std::uint64_t, size_figures>& all_;
  const peak_number& peak_;
  std::vector<state> near_;
  std::unordered_map<std::uint64_t, state> far_;
};

/// What a block takes beyond its size where it is aligned to more than each block is.
std::uint64_t beyond_for_alignment(const step& of) {
  constexpr std::uint64_t plain = 16;
  return of.alignment <= plain ? 0 : rounding_of_glibc(of.size, of.alignment);
}

/// The figures of each stack.
class figures_by_stack {
 public:
  figures_by_stack(trace_summary& into, const peak_number& peak, bool is_glibc)
      : into_(into), peak_(peak), is_glibc_(is_glibc) {}
  void birth(const step& of) {
    state& s = changing(of.stack);
    ++s.figures->births;
    s.figures->bytes += of.size;
    ++s.figures->live_blocks;
    s.figures->live_bytes += of.size;
    s.figures->lifetime_ticks -= of.time;  // modulo 2^64, until its end is added
    s.beyond += beyond_for_alignment(of);
  }
  void death(const step& of, bool is_temporary) {
    state& s = changing(of.stack);
    --s.figures->live_blocks;
    s.figures->live_bytes -= of.size;
    s.figures->lifetime_ticks += std::max(of.time, of.born_at);
    s.figures->temporaries += is_temporary ? 1 : 0;
    s.beyond -= beyond_for_alignment(of);
  }
  /// What nobody has touched of a block, nobody had touched at the moment, if it lived then.
  void look(const step& of, bool lived_then) {
    state& s = changing(of.stack);
    ++s.looks;
    if (!lived_then) return;
    s.looked_at += of.block_bytes;
    s.untouched += of.size;
  }
  void finish() {
    for (auto& [stack, s] : states_) {
      settle(s);
      stack_figures& f = *s.figures;
      auto untouched = static_cast<double>(s.untouched);
      const auto then = static_cast<double>(f.at_peak_bytes);
      // Of many blocks some are looked at, and stand for the others.
      if (s.looks >= looks_of_stack && s.looked_at != 0)
        untouched *= std::max(then / static_cast<double>(s.looked_at), 1.0);
      f.resident_bytes =
          untouched < then ? f.at_peak_bytes - static_cast<std::uint64_t>(untouched) : 0;
      if (is_glibc_) f.resident_bytes += s.beyond_then;
      f.lifetime_ticks += f.live_blocks * into_.last_time;
    }
  }

 private:
  struct state {
    std::uint64_t seen = 0;
    std::uint64_t beyond = 0, beyond_then = 0;  // for alignments
    std::uint64_t looks = 0;
    std::uint64_t looked_at = 0, untouched = 0;  // bytes of blocks that lived then
    stack_figures* figures = nullptr;
  };
  void settle(state& s) const {
    if (s.seen != peak_.now()) s.looked_at = s.untouched = 0;
    std::uint64_t seen = s.seen;
    peak_.settle(seen, s.beyond, s.beyond_then);
    peak_.settle(s.seen, s.figures->live_bytes, s.figures->at_peak_bytes);
  }
  state& changing(std::uint32_t stack) {
    state& s = states_[stack];
    if (s.figures == nullptr) s.figures = &into_.stacks[stack];
    settle(s);
    return s;
  }

  trace_summary& into_;
  const peak_number& peak_;
  bool is_glibc_;
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

lost_blocks sum_of(const std::vector<lost_blocks>& all) {
  lost_blocks sum;
  for (const lost_blocks& each : all) {
    sum.blocks += each.blocks;
    sum.bytes += each.bytes;
  }
  return sum;
}

trace_summary summarise(trace_reader& from, std::size_t moments,
                        const std::function<void(const step&)>& also) {
  trace_summary all;
  lifetimes steps(from);
  moment_series series(moments, from.times());
  peak_number peak;
  figures_by_size sizes(all, peak);
  resident_counter resident(from);
  figures_by_stack stacks(all, peak, resident.is_glibc());
  temporary_finder temporaries;
  held_counter held(from.times());
  bool first = true;
  program_course programs(from.header());
  const double ticks_per_microsecond = static_cast<double>(from.header().ticks_per_second()) / 1e6;
  const auto lived = [&](std::uint64_t ticks) {
    ++all.lifetimes[static_cast<std::size_t>(std::bit_width(ticks))];
    ++all.lifetimes_by_decade[decade_of(ticks, ticks_per_microsecond)];
  };
  for (step s; steps.next(s);) {
    if (also) also(s);
    resident.count(s);
    held.count(s);
    programs.count(s);
    if (first) all.first_time = s.time;
    first = false;
    all.last_time = std::max(all.last_time, s.time);
    const bool is_peak = all.count(s);
    const bool is_temporary = temporaries.ends_one(s);
    switch (s.happened) {
      case step::what::birth:
        ++all.events[static_cast<std::size_t>(s.kind)];
        sizes.birth(s.size);
        if (s.alignment != 0) ++all.alignments[s.alignment];
        if (s.stack != 0) stacks.birth(s);
        if (is_peak) peak.new_peak();
        break;
      case step::what::death:
        if (is_death(s.kind)) ++all.events[static_cast<std::size_t>(s.kind)];
        lived(s.time - std::min(s.time, s.born_at));
        all.temporaries += is_temporary ? 1 : 0;
        sizes.death(s.size, is_temporary);
        if (s.stack != 0) stacks.death(s, is_temporary);
        break;
      case step::what::unknown_death:
      case step::what::other:
        ++all.events[static_cast<std::size_t>(s.kind)];
        if (s.kind == event_kind::untouched && s.stack != 0)
          stacks.look(s, s.born_at <= all.peak_bytes_time);
        break;
    }
    series.add(s.time, all.live_bytes, all.live_blocks);
  }
  sizes.finish();
  stacks.finish();
  all.unknown_deaths = steps.unknown_deaths();
  all.missing_deaths = steps.missing_deaths();
  all.over_time = std::move(series.all());
  all.held = std::move(held.all());
  all.memory = resident.finish();
  all.of_peak = programs.at(all.memory.resident != 0 ? all.memory.time : all.peak_bytes_time);
  all.of_end = programs.last();
  all.looked_at_exit = from.look_at_exit();
  if (all.looked_at_exit)
    for (const lost_blocks& each : all.looked_at_exit->lost) {
      // A frame that somebody changed may say more than there is, or name a stack twice.
      stack_figures& of = all.stacks[each.stack];
      of.unreachable_blocks = std::min(of.live_blocks, each.blocks);
      of.unreachable_bytes = std::min(of.live_bytes, each.bytes);
    }
  return all;
}

}  // namespace ashlar::trace
