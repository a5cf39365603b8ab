// tools/profile/profile.cpp. Layer: profile.
#include "tools/profile/profile.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace ashlar::profiling {
namespace {

void add(std::uint64_t& into, std::uint64_t more) {
  if (__builtin_add_overflow(into, more, &into)) into = UINT64_MAX;
}
void add(alive& into, const alive& more) {
  add(into.blocks, more.blocks);
  add(into.bytes, more.bytes);
}

void join(pool_row& into, const pool_row& other) {
  add(into.births, other.births);
  add(into.requested_bytes, other.requested_bytes);
  for (std::size_t digits = 0; digits < into.lifetimes.size(); ++digits)
    add(into.lifetimes[digits], other.lifetimes[digits]);
}
void join(aligned_row& into, const aligned_row& other) {
  into.smallest = std::min(into.smallest, other.smallest);
}
void join(heap_row& into, const heap_row& other) {
  add(into.births, other.births);
  add(into.at_peak, other.at_peak);
  add(into.mean_1024, other.mean_1024);
}

/// The rows of both in the order of `key`; those of one key become one.
template <class Row, class Key>
std::vector<Row> joined(const std::vector<Row>& a, const std::vector<Row>& b, Key key) {
  std::vector<Row> all;
  all.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
             [&](const Row& left, const Row& right) { return key(left) < key(right); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (kept > 0 && key(all[kept - 1]) == key(all[i])) {
      join(all[kept - 1], all[i]);
    } else {
      if (kept != i) all[kept] = all[i];
      ++kept;
    }
  }
  all.resize(kept);
  return all;
}

/// Of each row of `all`: how many of `some` are before it. Requires: `some` are among `all`.
std::vector<std::size_t> count_before(const std::vector<pool_row>& all,
                                      const std::vector<pool_row>& some) {
  std::vector<std::size_t> before;
  before.reserve(all.size() + 1);
  std::size_t passed = 0;
  for (const pool_row& row : all) {
    before.push_back(passed);
    if (passed < some.size() && some[passed].step == row.step) ++passed;
  }
  before.push_back(passed);
  return before;
}

/// Effects: no peak of `all` is below that of the same sizes in `some`.
void raise(interval_table& all, const interval_table& some,
           const std::vector<std::size_t>& before) {
  for (std::size_t first = 0; first < all.count(); ++first) {
    for (std::size_t last = first; last < all.count(); ++last) {
      if (before[first] == before[last + 1]) continue;  // none of these sizes
      std::uint32_t& peak = all.at(first, last);
      peak = std::max(peak, some.at(before[first], before[last + 1] - 1));
    }
  }
}

}  // namespace

std::uint64_t profile::births() const noexcept {
  std::uint64_t all = 0;
  for (const pool_row& row : pools) add(all, row.births);
  return all;
}

std::uint64_t profile::deaths() const noexcept {
  std::uint64_t all = 0;
  for (const pool_row& row : pools)
    for (const std::uint64_t count : row.lifetimes) add(all, count);
  return all;
}

std::uint32_t profile::peak_between(std::uint32_t first_step,
                                    std::uint32_t last_step) const noexcept {
  const auto at_or_behind = [this](std::uint32_t step) {
    return static_cast<std::size_t>(std::ranges::lower_bound(pools, step, {}, &pool_row::step) -
                                    pools.begin());
  };
  if (first_step > last_step) return 0;
  const std::size_t first = at_or_behind(first_step);
  const std::size_t end = at_or_behind(last_step + 1);
  return first == end ? 0 : peaks.at(first, end - 1);
}

void merge(profile& into, const profile& other) {
  add(into.runs, other.runs);
  add(into.unfinished_runs, other.unfinished_runs);
  add(into.nanoseconds, other.nanoseconds);
  add(into.left_out, other.left_out);
  add(into.unknown_deaths, other.unknown_deaths);
  add(into.missing_deaths, other.missing_deaths);
  add(into.lost_events, other.lost_events);
  add(into.refused_requests, other.refused_requests);
  into.peak_bytes = std::max(into.peak_bytes, other.peak_bytes);

  std::vector<pool_row> pools = joined(into.pools, other.pools, std::mem_fn(&pool_row::step));
  interval_table peaks(pools.size());
  raise(peaks, into.peaks, count_before(pools, into.pools));
  raise(peaks, other.peaks, count_before(pools, other.pools));
  into.pools = std::move(pools);
  into.peaks = std::move(peaks);
  into.aligned = joined(into.aligned, other.aligned,
                        [](const aligned_row& row) { return std::pair(row.alignment, row.step); });
  into.heap = joined(into.heap, other.heap,
                     [](const heap_row& row) { return std::pair(row.step, row.alignment); });
}

}  // namespace ashlar::profiling
