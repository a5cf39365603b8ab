// tools/report/site_rows.cpp. Layer: report.
#include "tools/report/site_rows.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

namespace ashlar::report {
namespace {

constexpr std::uint64_t smallest_site = 10'000;

using counts_by_site = std::map<std::pair<call_site, std::uint32_t>, call_counts>;

call_site site_named(std::string name) { return {std::move(name), {}, {}, {}}; }

counts_by_site without_small(const counts_by_site& all, const call_counts& total) {
  counts_by_site kept;
  for (const auto& [who, counts] : all) {
    if (counts.is_below(smallest_site, total)) {
      kept[{site_named("(smaller call sites)"), who.second}] += counts;
    } else {
      kept[who] += counts;
    }
  }
  return kept;
}

}  // namespace

nlohmann::json site_json(const call_site& site) {
  return {{"name", site.name},
          {"function", site.function},
          {"source", site.source},
          {"module", site.module}};
}

std::string place_of(const call_site& site) {
  const auto last_part = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  if (site.function.empty()) return site.name;
  if (!site.source.empty()) return site.function + " at " + last_part(site.source);
  return site.module.empty() ? site.function : site.function + " in " + last_part(site.module);
}

site_figures site_rows(const std::vector<call_counter::entry>& entries,
                       const sites_by_stack& sites) {
  const call_site none = site_named("(no stack recorded)");
  counts_by_site all;
  call_counts total;
  for (const call_counter::entry& entry : entries) {
    const auto site = sites.find(entry.stack);
    all[{site != sites.end() ? site->second : none, entry.thread}] += entry.counts;
    total += entry.counts;
  }
  site_figures figures;
  std::map<call_site, std::size_t> index;
  for (const auto& [who, counts] : without_small(all, total)) {
    const auto [found, is_new] = index.try_emplace(who.first, figures.sites.size());
    if (is_new) figures.sites.push_back(who.first);
    figures.rows.push_back({found->second, who.second, counts});
  }
  std::ranges::sort(figures.rows, [](const site_row& a, const site_row& b) {
    return std::tuple(b.counts.bytes_at_peak, b.counts.bytes, a.site, a.thread) <
           std::tuple(a.counts.bytes_at_peak, a.counts.bytes, b.site, b.thread);
  });
  return figures;
}

}  // namespace ashlar::report
