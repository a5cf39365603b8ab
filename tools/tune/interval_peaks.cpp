// tools/tune/interval_peaks.cpp. Layer: tune.
#include "tools/tune/interval_peaks.hpp"

#include <algorithm>

namespace ashlar::tune {

namespace {
constexpr std::size_t table_bytes = std::size_t{256} << 20;  // both tables together
constexpr std::size_t most_windows = 2048;
constexpr std::size_t least_changes =
    64;  // of a window: reading fewer is cheaper than looking at bounds
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
  const std::size_t needs = need_count();
  const std::size_t columns = windows_.size();
  starts_.resize((needs + 1) * columns);
  tops_.resize((needs + 1) * columns);
  // A table's row is of one need and a window is a column: columns are gathered until they fill a cache line.
  constexpr std::size_t gathered = 16;
  std::vector<std::int32_t> start_columns(gathered * (needs + 1));
  std::vector<std::int32_t> top_columns(gathered * (needs + 1));
  std::vector<std::int32_t> alive(needs);
  std::vector<std::int32_t> most(needs);
  const auto put = [&](std::vector<std::int32_t>& table, const std::vector<std::int32_t>& from,
                       std::size_t first, std::size_t count) {
    for (std::size_t n = 0; n <= needs; ++n) {
      for (std::size_t c = 0; c < count; ++c)
        table[n * columns + first + c] = from[c * (needs + 1) + n];
    }
  };
  const auto add_up = [needs](const std::vector<std::int32_t>& values, std::int32_t* sums) {
    sums[0] = 0;
    for (std::size_t n = 0; n < needs; ++n) sums[n + 1] = sums[n] + values[n];
  };
  for (std::size_t w = 0; w < columns; ++w) {
    if (windows_[w].begin == 0) std::fill(alive.begin(), alive.end(), 0);
    const std::size_t c = w % gathered;
    add_up(alive, start_columns.data() + c * (needs + 1));
    most = alive;
    for (const std::int32_t change : changes_of(windows_[w])) {
      const auto n = static_cast<std::size_t>(need_of(change));
      alive[n] += is_birth(change) ? 1 : -1;
      most[n] = std::max(most[n], alive[n]);
    }
    add_up(most, top_columns.data() + c * (needs + 1));
    if (c + 1 == gathered || w + 1 == columns) {
      put(starts_, start_columns, w - c, c + 1);
      put(tops_, top_columns, w - c, c + 1);
    }
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
    if (load_.profiled)
      found[a].blocks = static_cast<std::uint32_t>(load_.profiled->at(first, last));
    if (columns == 0) continue;
    const std::int32_t* const start_before = starts(first);
    const std::int32_t* const start_behind = starts(last + 1);
    const std::int32_t* const top_before = tops(first);
    const std::int32_t* const top_behind = tops(last + 1);
    std::int32_t* const bound = bounds.data() + a * columns;
    for (std::size_t w = 0; w < columns; ++w) {
      const auto reached = static_cast<std::uint32_t>(start_behind[w] - start_before[w]);
      bound[w] = top_behind[w] - top_before[w];
      if (reached > found[a].blocks) found[a] = {reached, {windows_[w].trace, windows_[w].begin}};
    }
    promising.push_back(static_cast<std::size_t>(std::max_element(bound, bound + columns) - bound));
  }
  for (std::size_t w = 0; w < columns; ++w) promising.push_back(w);

  std::vector<std::int32_t> alive(apart.size() + 1);
  std::vector<std::int32_t> most(apart.size() + 1);
  std::vector<std::uint32_t> when(apart.size() + 1);
  for (const std::size_t w : promising) {
    bool any = false;
    for (std::size_t a = 0; a < apart.size(); ++a) {
      any = any || bounds[a * columns + w] > static_cast<std::int32_t>(found[a].blocks);
      alive[a] = starts(apart[a].last + 1)[w] - starts(apart[a].first)[w];
      most[a] = static_cast<std::int32_t>(found[a].blocks);
    }
    if (!any) continue;
    alive.back() = 0;
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
  return found;
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
    below[n] = starts(n)[w] + added;
    if (n < need_count()) added += since[n];
  }
  return below;
}

}  // namespace ashlar::tune
