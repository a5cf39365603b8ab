// tools/tune/interval_peaks.cpp. Layer: tune.
#include "tools/tune/interval_peaks.hpp"

#include <algorithm>

namespace ashlar::tune {

namespace {

constexpr std::size_t table_bytes = std::size_t{256} << 20;  // of starts and single needs' tops
constexpr std::size_t most_windows = 2048;
constexpr std::size_t least_changes =
    64;  // of a window: reading fewer is cheaper than looking at bounds

// A group of one level has so many of the level before it; the first level's are single needs.
constexpr std::size_t group_log2 = 4;

constexpr std::size_t groups_for(std::size_t count) {
  return (count + (std::size_t{1} << group_log2) - 1) >> group_log2;
}

}  // namespace

interval_peaks::interval_peaks(const workload& load) : load_(load) {
  cut_into_windows();
  read_windows();
}

void interval_peaks::cut_into_windows() {
  std::size_t changes = 0;
  for (const series& trace : load_.traces) changes += trace.size();
  const std::size_t affordable = table_bytes / (2 * sizeof(std::int32_t) * (need_count() + 1));
  const std::size_t count = std::clamp<std::size_t>(affordable, 16, most_windows);
  const std::size_t length = std::max(least_changes, changes / count + 1);
  for (std::uint32_t t = 0; t < load_.traces.size(); ++t) {
    const std::size_t size = load_.traces[t].size();
    for (std::size_t begin = 0; begin < size; begin += length) {
      windows_.push_back({t, static_cast<std::uint32_t>(begin),
                          static_cast<std::uint32_t>(std::min(begin + length, size))});
    }
  }
}

void interval_peaks::read_windows() {
  struct counts {
    std::vector<std::int32_t> alive;
    std::vector<std::int32_t> most;
  };
  std::vector<counts> levels;  // of groups: blocks alive, and the most within the window
  for (std::size_t groups = need_count();; groups = groups_for(groups)) {
    levels.push_back({std::vector<std::int32_t>(groups), {}});
    tops_.emplace_back(groups, windows_.size());
    if (groups_for(groups) == 1) break;
  }
  starts_ = prefix_table(need_count(), windows_.size());
  for (const window& w : windows_) {
    for (counts& level : levels) {
      if (w.begin == 0) std::ranges::fill(level.alive, 0);
      level.most = level.alive;
    }
    starts_.add_column(levels.front().alive);
    for (const std::int32_t change : changes_of(w)) {
      auto group = static_cast<std::size_t>(need_of(change));
      for (counts& level : levels) {
        level.alive[group] += is_birth(change) ? 1 : -1;
        level.most[group] = std::max(level.most[group], level.alive[group]);
        group >>= group_log2;
      }
    }
    for (std::size_t l = 0; l < levels.size(); ++l) tops_[l].add_column(levels[l].most);
  }
}

// Adds for each window a bound above what the interval reaches within it.
void interval_peaks::add_tops(interval served, std::span<std::int32_t> bounds) const {
  std::size_t begin = served.first;
  std::size_t end = served.last + 1;
  const auto add = [&](std::size_t l, std::size_t from, std::size_t to) {
    if (from == to) return;
    const std::span<const std::int32_t> before = tops_[l].of_first(from);
    const std::span<const std::int32_t> behind = tops_[l].of_first(to);
    for (std::size_t w = 0; w < bounds.size(); ++w) bounds[w] += behind[w] - before[w];
  };
  for (std::size_t l = 0; begin < end; ++l) {
    if (l + 1 == tops_.size()) return add(l, begin, end);
    // What is in no whole group of the next level.
    const std::size_t whole_begin = std::min(groups_for(begin) << group_log2, end);
    const std::size_t whole_end = std::max(end >> group_log2 << group_log2, whole_begin);
    add(l, begin, whole_begin);
    add(l, whole_end, end);
    begin = groups_for(whole_begin);
    end = whole_end >> group_log2;
  }
}

std::vector<peak> interval_peaks::of(std::span<const interval> apart) const {
  const std::size_t columns = windows_.size();
  std::vector<peak> found(apart.size());
  std::vector<std::int32_t> bounds(apart.size() * columns);
  std::vector<std::uint32_t> owner(need_count(), static_cast<std::uint32_t>(apart.size()));
  std::vector<std::size_t>
      promising;  // windows; of each interval the one with the highest bound comes first
  for (std::size_t a = 0; a < apart.size(); ++a) {
    const auto [first, last] = apart[a];
    for (std::size_t n = first; n <= last; ++n) owner[n] = static_cast<std::uint32_t>(a);
    if (load_.profiled) found[a].blocks = load_.profiled->at(first, last);
    if (columns == 0) continue;
    const std::span<const std::int32_t> before = starts_.of_first(first);
    const std::span<const std::int32_t> behind = starts_.of_first(last + 1);
    for (std::size_t w = 0; w < columns; ++w) {
      const auto reached = static_cast<std::uint32_t>(behind[w] - before[w]);
      if (reached > found[a].blocks) found[a] = {reached, {windows_[w].trace, windows_[w].begin}};
    }
    const std::span<std::int32_t> bound = std::span(bounds).subspan(a * columns, columns);
    add_tops(apart[a], bound);
    promising.push_back(static_cast<std::size_t>(std::ranges::max_element(bound) - bound.begin()));
  }
  for (std::size_t w = 0; w < columns; ++w) promising.push_back(w);
  for (const std::size_t w : promising) {
    bool any = false;
    for (std::size_t a = 0; a < apart.size(); ++a)
      any = any || bounds[a * columns + w] > static_cast<std::int32_t>(found[a].blocks);
    if (any) read_window(w, apart, owner, found);
  }
  return found;
}

// Raises what was found to what the intervals reach within the window. `owner`: of each need, the number of its interval.
void interval_peaks::read_window(std::size_t w, std::span<const interval> apart,
                                 std::span<const std::uint32_t> owner,
                                 std::vector<peak>& found) const {
  std::vector<std::int32_t> alive(apart.size() + 1);
  std::vector<std::int32_t> most(apart.size() + 1);
  std::vector<std::uint32_t> when(apart.size() + 1);
  for (std::size_t a = 0; a < apart.size(); ++a) {
    alive[a] = starts_.of_first(apart[a].last + 1)[w] - starts_.of_first(apart[a].first)[w];
    most[a] = static_cast<std::int32_t>(found[a].blocks);
  }
  most.back() = INT32_MAX;  // of what is in no interval
  std::uint32_t at = windows_[w].begin;
  for (const std::int32_t change : changes_of(windows_[w])) {
    ++at;
    const std::uint32_t a = owner[static_cast<std::size_t>(need_of(change))];
    alive[a] += is_birth(change) ? 1 : -1;
    if (alive[a] > most[a]) {
      most[a] = alive[a];
      when[a] = at;
    }
  }
  for (std::size_t a = 0; a < apart.size(); ++a) {
    const auto blocks = static_cast<std::uint32_t>(most[a]);
    if (blocks > found[a].blocks) found[a] = {blocks, {windows_[w].trace, when[a]}};
  }
}

std::vector<std::int32_t> interval_peaks::alive_below(moment at) const {
  const auto behind = std::find_if(windows_.rbegin(), windows_.rend(), [at](const window& w) {
    return w.trace == at.trace && w.begin <= at.changes;
  });
  const auto w = static_cast<std::size_t>(windows_.rend() - behind - 1);
  std::vector<std::int32_t> below(need_count() + 1);
  std::vector<std::int32_t> since(need_count());
  for (const std::int32_t change : changes_of(windows_[w]).first(at.changes - windows_[w].begin))
    since[static_cast<std::size_t>(need_of(change))] += is_birth(change) ? 1 : -1;
  std::int32_t added = 0;
  for (std::size_t n = 0; n <= need_count(); ++n) {
    below[n] = starts_.of_first(n)[w] + added;
    if (n < need_count()) added += since[n];
  }
  return below;
}

}  // namespace ashlar::tune
