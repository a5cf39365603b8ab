// tools/findings/pin_groups.cpp. Layer: findings.
#include "tools/findings/pin_groups.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace ashlar::findings {
namespace {

using sites = std::vector<std::uint32_t>;
using holders = std::pair<sites, std::uint64_t>;  // and their pages

constexpr std::size_t sets_tried = 64;

bool has_all(const sites& group, const sites& of) {
  return std::includes(group.begin(), group.end(), of.begin(), of.end());
}

sites joined(const sites& a, const sites& b) {
  sites both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

bool has_common(const sites& a, const sites& b) {
  return joined(a, b).size() < a.size() + b.size();
}

std::uint64_t pages_alone(const std::vector<holders>& all, const sites& group) {
  std::uint64_t pages = 0;
  for (const auto& [of, count] : all)
    if (has_all(group, of)) pages += count;
  return pages;
}

// Effects: the set of holders joins that adds the most. Returns: whether one does.
bool grow(pin_group& group, const std::vector<holders>& all) {
  pin_group best = group;
  double best_gain = 0;
  for (std::size_t i = 0; i < std::min(all.size(), sets_tried); ++i) {
    const sites& more = all[i].first;
    if (has_all(group.sites, more) || !has_common(group.sites, more)) continue;
    pin_group larger{joined(group.sites, more), 0};
    if (larger.sites.size() > most_sites_of_group) continue;
    larger.pages_alone = pages_alone(all, larger.sites);
    const double gain = static_cast<double>(larger.pages_alone - group.pages_alone) /
                        static_cast<double>(larger.sites.size() - group.sites.size());
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = std::move(larger);
  }
  if (best_gain * 10 < static_cast<double>(group.pages_alone) || best_gain == 0) return false;
  group = std::move(best);
  return true;
}

}  // namespace

std::vector<pin_group> pin_groups(const hollow_pages& of, std::uint64_t least_pages) {
  std::vector<holders> all;
  for (const auto& [who, held] : of.by_holders)
    if (!who.sites.empty()) all.emplace_back(who.sites, held.pages);
  std::ranges::sort(all, [](const holders& a, const holders& b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  std::vector<pin_group> groups;
  while (groups.size() < most_pin_groups && !all.empty()) {
    pin_group group{all.front().first, 0};
    group.pages_alone = pages_alone(all, group.sites);
    while (grow(group, all)) {
    }
    std::erase_if(all, [&](const holders& each) { return has_common(each.first, group.sites); });
    if (group.pages_alone >= least_pages) groups.push_back(std::move(group));
  }
  std::ranges::sort(groups, [](const pin_group& a, const pin_group& b) {
    return std::tie(b.pages_alone, a.sites) < std::tie(a.pages_alone, b.sites);
  });
  return groups;
}

}  // namespace ashlar::findings
