// tools/findings/finder.cpp. Layer: findings.
#include "tools/findings/finder.hpp"

#include <map>
#include <utility>

#include "tools/findings/rules.hpp"

namespace ashlar::findings {

finder::finder(const std::vector<trace::stack_definition>& stacks, names_of_stack names_of,
               rounding by)
    : stacks_(stacks),
      names_of_(std::move(names_of)),
      sites_(stacks, names_of_),
      own_histories_(sites_, owned_by::first_own_call, by),
      caller_histories_(sites_, owned_by::its_caller, by) {}

namespace {

std::vector<std::string> without_lines(const std::vector<site>& sites,
                                       const std::vector<site_history>& histories,
                                       const run_totals& run) {
  std::map<std::string, std::uint64_t> allocations;  // by file
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const trace::named_call& owner = sites[i].calls[sites[i].owner];
    if (owner.lacks_line()) allocations[owner.module] += histories[i].births;
  }
  std::vector<std::string> files;
  for (const auto& [file, births] : allocations)
    if (births * 100 >= run.births * thresholds::percent_of_run) files.push_back(file);
  return files;
}

}  // namespace

findings_of_run finder::findings() const {
  const run_totals totals = own_histories_.totals();
  const std::vector<site_history> own = own_histories_.histories();
  const std::vector<site_history> callers = caller_histories_.histories();
  std::vector<std::uint32_t> inner(callers.size());
  for (const trace::stack_definition& stack : stacks_) {
    const site_table::place place = sites_.of(stack.number);
    const std::uint32_t caller = place.site(owned_by::its_caller);
    if (caller != site_table::nobody) inner[caller] = place.site(owned_by::first_own_call);
  }
  const std::vector<site>& own_sites = sites_.sites(owned_by::first_own_call);
  findings_of_run found{
      totals,
      judged({own_sites, own}, {sites_.sites(owned_by::its_caller), callers}, inner, totals), 0,
      without_lines(own_sites, own, totals)};
  for (finding& each : found.list)
    if (each.main_stack < stacks_.size()) each.calls = names_of_(stacks_[each.main_stack]);
  return found;
}

}  // namespace ashlar::findings
