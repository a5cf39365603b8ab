// tools/profile/profile_builder.cpp. Layer: profile.
#include "tools/profile/profile_builder.hpp"

#include <algorithm>
#include <bit>

namespace ashlar::profiling {

namespace {

constexpr std::uint64_t mean_unit = 1024;

}  // namespace

// A peak is not copied when it is reached, which would be O(sizes) each time: it only gets a number. Whoever changes a
// line first after it keeps what the line was at that peak.
heap_counter::line& heap_counter::changing(std::uint64_t time, std::uint64_t size,
                                           std::uint64_t alignment) {
  if (!begun_) begun_at_ = now_ = time;
  begun_ = true;
  now_ = std::max(now_, time);
  const std::uint64_t told = heap_grid::alignment_of(alignment);
  std::vector<line>& lines =
      lines_[told == 0 ? 0 : static_cast<std::size_t>(std::countr_zero(told))];
  if (lines.empty()) lines.resize(heap_grid::count);
  line& of = lines[heap_grid::step_of(size)];
  if (of.peak != peaks_) {
    of.at_peak = of.now;
    of.peak = peaks_;
  }
  const wide since = now_ - of.changed_at;
  of.block_time += of.now.blocks * since;
  of.byte_time += of.now.bytes * since;
  of.changed_at = now_;
  return of;
}

void heap_counter::birth(std::uint64_t time, std::uint64_t size, std::uint64_t alignment) {
  line& of = changing(time, size, alignment);
  ++of.births;
  ++of.now.blocks;
  of.now.bytes += size;
  live_bytes_ += size;
  if (live_bytes_ > peak_bytes_) {
    peak_bytes_ = live_bytes_;
    ++peaks_;
  }
}

void heap_counter::death(std::uint64_t time, std::uint64_t size, std::uint64_t alignment) {
  line& of = changing(time, size, alignment);
  --of.now.blocks;
  of.now.bytes -= size;
  live_bytes_ -= size;
}

std::vector<heap_row> heap_counter::rows() const {
  std::vector<heap_row> all;
  const wide time = std::max<std::uint64_t>(duration(), 1);
  for (std::uint32_t step = 0; step < heap_grid::count; ++step) {
    for (std::size_t a = 0; a < lines_.size(); ++a) {
      if (lines_[a].empty() || lines_[a][step].births == 0) continue;
      const line& of = lines_[a][step];
      const wide since = now_ - of.changed_at;
      const wide blocks = (of.block_time + of.now.blocks * since) * mean_unit;
      const wide bytes = (of.byte_time + of.now.bytes * since) * mean_unit;
      all.push_back({.step = step,
                     .alignment = a == 0 ? 0 : std::uint64_t{1} << a,
                     .births = of.births,
                     .at_peak = of.peak == peaks_ ? of.at_peak : of.now,
                     .mean_1024 = {.blocks = at_most_64_bits((blocks + time - 1) / time),
                                   .bytes = at_most_64_bits(bytes / time)}});
    }
  }
  return all;
}

namespace {

// Of 16 bits each: what a processor of x86-64 compares at once.
constexpr std::size_t lanes = 8;
static_assert(peak_counter::window_sizes % lanes == 0);
static_assert(peak_counter::window_events <= INT16_MAX);

}  // namespace

peak_counter::peak_counter(window_limits limits)
    : limits_(limits), alive_(steps), most_(steps * steps), rises_(window_sizes * window_sizes) {
  window_.reserve(window_events);
}

void peak_counter::add(std::uint32_t step, bool is_death) {
  if (!in_window_[step]) {
    if (sizes_in_window_ == limits_.sizes) fold();
    in_window_.set(step);
    ++sizes_in_window_;
  }
  window_.push_back(static_cast<std::uint16_t>(2 * step + (is_death ? 1 : 0)));
  if (window_.size() == limits_.events) fold();
}

// Within the window, the sizes that occur in it have places 0, 1, ... and above[p] is how many more blocks of places 0..p
// are alive than at its start. So places p..q rose by above[q] - above[p - 1], and only a birth among them can make that
// the most so far.
peak_counter::window_rises peak_counter::rises_in_window() {
  window_rises found;
  std::array<std::uint8_t, steps> place{};
  for (std::size_t step = 0; step < steps; ++step) {
    if (!in_window_[step]) continue;
    place[step] = static_cast<std::uint8_t>(found.count);
    found.sizes[found.count++] = step;
  }
  const std::size_t width = (found.count + lanes - 1) / lanes * lanes;
  std::fill_n(rises_.begin(), found.count * window_sizes, std::int16_t{0});
  std::array<std::int16_t, window_sizes> above{};  // here, so that no row can be suspected to be it
  for (const std::uint16_t event : window_) {
    const std::size_t at = place[event / 2u];
    const bool is_death = event % 2 != 0;
    const auto change = static_cast<std::int16_t>(is_death ? -1 : 1);
    for (std::size_t q = at; q < width; ++q)
      above[q] = static_cast<std::int16_t>(above[q] + change);
    if (is_death) continue;
    for (std::size_t p = 0; p <= at; ++p) {
      const std::int16_t before = p == 0 ? std::int16_t{0} : above[p - 1];
      std::int16_t* const row = rises_.data() + p * window_sizes;
      // Whole groups of lanes: what is before `at` in the first of them has been reached, too.
      for (std::size_t group = at / lanes * lanes; group < width; group += lanes) {
        for (std::size_t q = group; q < group + lanes; ++q)
          row[q] = std::max(row[q], static_cast<std::int16_t>(above[q] - before));
      }
    }
  }
  found.above = above;
  return found;
}

// A row of the table is that of the next used step until the step itself is used, and a column that of the one before.
void peak_counter::begin_using(const window_rises& found) {
  const std::size_t end = std::max(used_end_, found.sizes[found.count - 1] + 1);
  for (std::size_t step = 0; step < used_end_; ++step) {
    std::int32_t* const row = most_.data() + step * steps;
    if (used_[step]) std::fill(row + used_end_, row + end, row[used_end_ - 1]);
  }
  used_end_ = end;
  for (std::size_t p = found.count; p-- > 0;) {
    const std::size_t step = found.sizes[p];
    if (used_[step]) continue;
    std::size_t next = step + 1;
    while (next < used_end_ && !used_[next]) ++next;
    used_.set(step);
    if (next == used_end_) continue;
    const std::int32_t* const from = most_.data() + next * steps;
    std::copy(from + next, from + used_end_, most_.data() + step * steps + next);
  }
}

void peak_counter::fold() {
  if (window_.empty()) return;
  const window_rises found = rises_in_window();
  begin_using(found);
  std::array<std::int32_t, steps + 1> below{};  // alive of the steps before, at the window's start
  for (std::size_t step = 0; step < used_end_; ++step) below[step + 1] = below[step] + alive_[step];
  std::array<std::int32_t, steps> reached{};
  for (std::size_t p = 0; p < found.count; ++p) {
    // Intervals whose first size of the window is sizes[p]: how many blocks up to `last` there were, with those below.
    const std::size_t first = found.sizes[p];
    for (std::size_t q = p; q < found.count; ++q) {
      const std::int32_t rise = rises_[p * window_sizes + q];
      const std::size_t end = q + 1 < found.count ? found.sizes[q + 1] : used_end_;
      for (std::size_t last = found.sizes[q]; last < end; ++last)
        reached[last] = below[last + 1] + rise;
    }
    for (std::size_t from = p == 0 ? 0 : found.sizes[p - 1] + 1; from <= first; ++from) {
      if (!used_[from]) continue;
      std::int32_t* const row = most_.data() + from * steps;
      const std::int32_t before = below[from];
      for (std::size_t last = first; last < used_end_; ++last)
        row[last] = std::max(row[last], reached[last] - before);
    }
  }
  for (std::size_t p = 0; p < found.count; ++p)
    alive_[found.sizes[p]] += found.above[p] - (p == 0 ? 0 : found.above[p - 1]);
  window_.clear();
  in_window_.reset();
  sizes_in_window_ = 0;
}

peak_counter::result peak_counter::snapshot() {
  fold();
  result all;
  for (std::uint32_t step = 0; step < steps; ++step)
    if (used_[step]) all.used.push_back(step);
  all.peaks = interval_table(all.used.size());
  for (std::size_t first = 0; first < all.used.size(); ++first) {
    const std::int32_t* const row = most_.data() + all.used[first] * steps;
    for (std::size_t last = first; last < all.used.size(); ++last)
      all.peaks.at(first, last) = static_cast<std::uint32_t>(row[all.used[last]]);
  }
  return all;
}

namespace {

constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;

}  // namespace

profile_builder::profile_builder(std::uint64_t ticks_per_second)
    : ticks_per_second_(ticks_per_second), needs_(pool_grid::count) {
  for (std::size_t digits = 1; digits < first_ticks_.size(); ++digits) {
    const wide least = wide{1} << (digits - 1);  // nanoseconds
    first_ticks_[digits] = at_most_64_bits(
        (least * ticks_per_second_ + nanoseconds_per_second - 1) / nanoseconds_per_second);
  }
}

void profile_builder::take(const trace::step& s) {
  switch (s.happened) {
    case trace::step::what::birth:
      birth(s.time, s.size, s.alignment);
      break;
    case trace::step::what::death:
      if (s.kind == trace::event_kind::lost) ++missing_deaths_;
      death(s.time, s.size, s.alignment, s.born_at);
      break;
    case trace::step::what::unknown_death:
      ++unknown_deaths_;
      break;
    case trace::step::what::other:
      if (s.kind == trace::event_kind::lost) lost_events_ += s.size;
      if (s.kind == trace::event_kind::refused) ++refused_requests_;
      break;
  }
}

void profile_builder::birth(std::uint64_t time, std::uint64_t size, std::uint64_t alignment) {
  if (!pool_grid::serves(size, alignment)) {
    ++left_out_;
    return;
  }
  const std::uint32_t step = pool_grid::step_of(pool_grid::need_of(size, alignment));
  need_figures& need = needs_[step];
  ++need.births;
  need.requested_bytes += size;
  if (alignment > 1) {
    std::uint64_t& smallest = aligned_.try_emplace({alignment, step}, size).first->second;
    smallest = std::min(smallest, size);
  }
  peaks_.birth(step);
  heap_.birth(time, size, alignment);
}

void profile_builder::death(std::uint64_t time, std::uint64_t size, std::uint64_t alignment,
                            std::uint64_t born_at) {
  if (!pool_grid::serves(size, alignment)) return;
  const std::uint32_t step = pool_grid::step_of(pool_grid::need_of(size, alignment));
  const std::uint64_t lived = time > born_at ? time - born_at : 0;
  ++needs_[step].lifetimes[binary_digits_of_nanoseconds(lived)];
  peaks_.death(step);
  heap_.death(time, size, alignment);
}

std::size_t profile_builder::binary_digits_of_nanoseconds(std::uint64_t ticks) const {
  const auto longer = std::ranges::upper_bound(first_ticks_, ticks);
  return static_cast<std::size_t>(longer - first_ticks_.begin()) - 1;
}

profile profile_builder::snapshot() {
  profile made;
  made.runs = 1;
  made.nanoseconds =
      at_most_64_bits(wide{heap_.duration()} * nanoseconds_per_second / ticks_per_second_);
  made.left_out = left_out_;
  made.unknown_deaths = unknown_deaths_;
  made.missing_deaths = missing_deaths_;
  made.lost_events = lost_events_;
  made.refused_requests = refused_requests_;
  made.peak_bytes = heap_.peak_bytes();
  peak_counter::result peaks = peaks_.snapshot();
  for (const std::uint32_t step : peaks.used) {
    const need_figures& need = needs_[step];
    made.pools.push_back({.step = step,
                          .births = need.births,
                          .requested_bytes = need.requested_bytes,
                          .lifetimes = need.lifetimes});
  }
  made.peaks = std::move(peaks.peaks);
  for (const auto& [request, smallest] : aligned_)
    made.aligned.push_back(
        {.alignment = request.first, .step = request.second, .smallest = smallest});
  made.heap = heap_.rows();
  return made;
}

profile profile_of(trace::trace_reader& from) {
  profile_builder builder(from.ticks_per_second());
  trace::lifetimes blocks(from);
  for (trace::step s; blocks.next(s);) builder.take(s);
  profile made = builder.snapshot();
  made.unfinished_runs = from.warning().empty() ? 0 : 1;
  return made;
}

}  // namespace ashlar::profiling
