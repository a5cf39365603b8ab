// tools/profile/peak_counter.cpp. Layer: profile.
#include "tools/profile/peak_counter.hpp"

#include <algorithm>

namespace ashlar::profiling {
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

}  // namespace ashlar::profiling
