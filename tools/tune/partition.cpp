// tools/tune/partition.cpp. Layer: tune.
#include "tools/tune/partition.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "tools/tune/interval_program.hpp"

namespace ashlar::tune {

namespace {

constexpr std::size_t group_needs = 4;
constexpr std::size_t few_needs = 4096;  // up to so many, looking at groups saves nothing

// The same traces for needs of which each is the largest of a group. Classes may end where those of the needs may not
// (closed_from): only moments are taken from it. A workload with profiles has fewer needs.
static_assert(profiling::pool_grid::count <= few_needs);
workload coarser(const workload& load) {
  workload coarse;
  for (std::size_t n = 0; n < load.needs.size(); ++n) {
    if (n % group_needs == 0) coarse.needs.push_back(load.needs[n]);
    block_need& group = coarse.needs.back();
    group = {load.needs[n].size, std::max(group.alignment, load.needs[n].alignment)};
  }
  for (const series& trace : load.traces) {
    series& changes = coarse.traces.emplace_back();
    changes.reserve(trace.size());
    for (const std::int32_t change : trace) {
      const auto group = need_of(change) / static_cast<std::int32_t>(group_needs);
      changes.push_back(is_birth(change) ? group : ~group);
    }
  }
  return coarse;
}

/// Returns: nullptr where there are no profiles.
const profiling::interval_table* profiled_of(const workload& load) {
  return load.profiled ? &*load.profiled : nullptr;
}

class search {
 public:
  search(const interval_peaks& peaks, std::size_t most_classes, std::uint64_t margin_percent)
      : peaks_(peaks),
        margin_(margin_percent),
        bounds_(peaks.need_count(), profiled_of(peaks.load())),
        program_(peaks.load().needs, most_classes, margin_percent) {
    found_.best.resize(most_classes);
  }

  // The peaks of halves, quarters, ... of the needs: a start from which few rounds are left.
  void look_around() {
    const std::size_t needs = peaks_.need_count();
    std::size_t moments = 128;
    for (std::size_t parts = 1; parts <= needs && parts <= moments; parts *= 2) {
      std::vector<interval> level;
      level.reserve(parts);
      for (std::size_t p = 0; p < parts; ++p)
        level.push_back({p * needs / parts, (p + 1) * needs / parts - 1});
      std::vector<reached> above;
      are_bounds_peaks(level, above);
      learn(above);
      moments -= parts;
    }
  }

  // The moments that decide between the partitions of groups of needs: nearly those that decide between all.
  void look_at_groups(search_for wanted, const progress& tell) {
    const workload coarse = coarser(peaks_.load());
    const partition_search of_groups =
        cheapest_partitions(interval_peaks(coarse), found_.best.size(), wanted, margin_, tell);
    for (const moment at : of_groups.witness) learn(at);
  }

  void settle(search_for wanted, const progress& tell) {
    std::vector<std::size_t> open;
    for (std::size_t k = wanted == search_for::each_number ? 1 : found_.best.size();
         k <= found_.best.size(); ++k)
      open.push_back(k);
    const auto asked = static_cast<double>(open.size());
    while (!open.empty()) {
      if (tell) tell("choosing classes", 1 - static_cast<double>(open.size()) / asked);
      program_.run(bounds_);
      ++found_.rounds;
      // All partitions first: learning changes the bounds, which they are read from.
      std::vector<reached> above;
      std::vector<std::size_t> still_open;
      for (const std::size_t k : open) {
        std::vector<interval> parts = program_.partition_of(k, bounds_);
        if (are_bounds_peaks(parts, above))
          found_.best[k - 1] = partition_of(std::move(parts));
        else
          still_open.push_back(k);
      }
      const std::size_t moments_before = found_.witness.size();
      learn(above);
      open = std::move(still_open);
      if (!open.empty() && found_.witness.size() == moments_before)
        throw std::logic_error("the search has learnt nothing: the program and the set disagree");
    }
  }

  [[nodiscard]] partition_search take() { return std::move(found_); }

 private:
  struct reached {
    interval part;
    peak most;
  };

  // Returns: whether the bounds are the peaks of these intervals; those above, if they are new, go to `above`. Where they
  // are, the partition is what the program would give for all true peaks: so the choice between equally cheap ones
  // does not depend on the moments that were looked at, nor on whether peaks come from a trace or a profile.
  bool are_bounds_peaks(const std::vector<interval>& parts, std::vector<reached>& above) {
    std::vector<interval> unknown;
    for (const interval& part : parts) {
      if (!known_.contains({part.first, part.last})) unknown.push_back(part);
    }
    const std::vector<peak> found = peaks_.of(unknown);
    for (std::size_t u = 0; u < unknown.size(); ++u) {
      known_[{unknown[u].first, unknown[u].last}] = found[u].blocks;
      if (is_above_bound(unknown[u], found[u].blocks)) above.push_back({unknown[u], found[u]});
    }
    return std::ranges::none_of(parts, [this](const interval& part) {
      return is_above_bound(part, known_.at({part.first, part.last}));
    });
  }

  [[nodiscard]] bool is_above_bound(const interval& part, std::uint32_t blocks) const {
    return static_cast<std::int64_t>(blocks) > bounds_.at(part.first, part.last);
  }

  // Lets the bounds know the moments of these peaks, where they do not by those before.
  void learn(const std::vector<reached>& above) {
    for (const auto& [part, most] : above) {
      if (is_above_bound(part, most.blocks)) learn(most.at);
    }
  }
  void learn(moment at) {
    bounds_.raise(peaks_.alive_below(at));
    found_.witness.push_back(at);
  }

  [[nodiscard]] partition partition_of(std::vector<interval> parts) const {
    partition made{std::move(parts), {}, 0};
    for (const interval& part : made.parts) {
      made.classes.push_back(
          class_for(peaks_.load().needs, part, known_.at({part.first, part.last}), margin_));
    }
    made.bytes = set_bytes(made.classes);
    return made;
  }

  const interval_peaks& peaks_;
  std::uint64_t margin_;
  peak_bounds bounds_;
  interval_program program_;
  std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> known_;
  partition_search found_;
};

}  // namespace

partition_search cheapest_partitions(const interval_peaks& peaks, std::size_t most_classes,
                                     search_for wanted, std::uint64_t margin_percent,
                                     const progress& tell) {
  search cheapest(peaks, std::min(most_classes, peaks.need_count()), margin_percent);
  if (peaks.need_count() > few_needs)
    cheapest.look_at_groups(wanted, tell);
  else
    cheapest.look_around();
  cheapest.settle(wanted, tell);
  return cheapest.take();
}

}  // namespace ashlar::tune
