// tools/findings/finder.cpp. Layer: findings.
#include "tools/findings/finder.hpp"

#include <utility>

#include "tools/findings/rules.hpp"

namespace ashlar::findings {

finder::finder(const std::vector<trace::stack_definition>& stacks, names_of_stack names_of)
    : stacks_(stacks),
      names_of_(std::move(names_of)),
      sites_(stacks, names_of_),
      histories_(sites_) {}

findings_of_run finder::findings() const {
  const run_totals totals = histories_.totals();
  findings_of_run found{totals, judged(sites_.sites(), histories_.histories(), totals)};
  for (finding& each : found.list)
    if (each.main_stack < stacks_.size()) each.calls = names_of_(stacks_[each.main_stack]);
  return found;
}

}  // namespace ashlar::findings
