// tools/findings/pins.cpp. Layer: findings.
#include "tools/findings/pins.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tools/findings/call_owner.hpp"
#include "tools/findings/pin_replay.hpp"

namespace ashlar::findings {

using namespace thresholds;

pin_finder::pin_finder(const std::vector<trace::stack_definition>& stacks, names_of_stack names_of,
                       const site_table& sites, const run_course& course)
    : stacks_(stacks),
      names_of_(std::move(names_of)),
      table_(sites),
      course_(course),
      use_(fine_sites_, course) {
  const auto with_caller = static_cast<std::uint32_t>(sites.sites(owned_by::its_caller).size());
  line_of_.resize(with_caller + sites.sites(owned_by::first_own_call).size(), stack_sites::nobody);
  std::unordered_map<std::string, std::uint32_t> lines;  // that differ in the calls inside of them
  for (const trace::stack_definition& stack : stacks) {
    const site_table::place place = sites.of(stack.number);
    const std::uint32_t own = place.site(owned_by::first_own_call);
    if (own == site_table::nobody) continue;
    const site& at = sites.sites(owned_by::first_own_call)[own];
    const std::uint32_t line = lines.try_emplace(at.calls[at.first_own].text(), own).first->second;
    const std::uint32_t caller = place.site(owned_by::its_caller);
    const std::uint32_t fine = caller == site_table::nobody ? with_caller + own : caller;
    fine_sites_.set(stack.number, fine);
    line_of_[fine] = line;
  }
}

void pin_finder::count(const trace::step& s) {
  use_.count(s);
  if (s.happened == trace::step::what::birth) ++births_[s.stack];
}

const site& pin_finder::named(std::uint32_t fine) const {
  const std::vector<site>& callers = table_.sites(owned_by::its_caller);
  return fine < callers.size() ? callers[fine]
                               : table_.sites(owned_by::first_own_call)[fine - callers.size()];
}

// Whether a line's blocks are often others' than those of the group: a helper, whose callers count.
bool pin_finder::has_other_callers(std::uint32_t line, const pin_group& group) const {
  std::uint64_t all = 0;
  std::uint64_t others = 0;
  for (const auto& [stack, births] : births_) {
    const std::uint32_t fine = fine_sites_.of(stack);
    if (fine >= line_of_.size() || line_of_[fine] != line) continue;
    all += births;
    if (!std::binary_search(group.sites.begin(), group.sites.end(), fine)) others += births;
  }
  return others * 100 >= all * other_callers_percent;
}

// Without the saving.
finding pin_finder::begun(const pin_group& group) const {
  const hollow_pages& worst = *use_.worst();
  finding f;
  f.kind = finding_kind::pins;
  f.pages_alone = group.pages_alone;
  const std::uint64_t length = use_.moments().back().time;
  f.pinned_at = worst.is_end || length == 0
                    ? 1
                    : static_cast<double>(worst.figures.time) / static_cast<double>(length);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_bytes;  // pinned; index of a stack
  for (std::uint32_t i = 0; i < stacks_.size(); ++i) {
    const auto figures = worst.by_stack.find(stacks_[i].number);
    if (figures == worst.by_stack.end()) continue;
    if (!std::binary_search(group.sites.begin(), group.sites.end(),
                            fine_sites_.of(stacks_[i].number)))
      continue;
    f.fitting += figures->second.blocks;
    f.pinned_live_bytes += figures->second.live_bytes;
    by_bytes.emplace_back(figures->second.pinned_bytes, i);
  }
  std::sort(by_bytes.rbegin(), by_bytes.rend());
  std::set<std::string> told;
  for (const auto& [bytes, index] : by_bytes) {
    const std::uint32_t fine = fine_sites_.of(stacks_[index].number);
    const site& at = named(fine);
    const std::size_t owner = has_other_callers(line_of_[fine], group) ? at.owner : at.first_own;
    std::vector<trace::named_call> calls = names_of_(stacks_[index]);
    if (owner >= calls.size() || !told.insert(calls[owner].text()).second) continue;
    if (!f.calls.empty()) {
      f.also.push_back(calls[owner]);
      continue;
    }
    f.main_stack = index;
    f.owner = owner;
    if (owner > 0) f.through = short_name(function_of(calls[owner - 1]));
    f.calls = std::move(calls);
  }
  return f;
}

std::vector<finding> pin_finder::findings(const std::function<void(const each_step&)>& again) {
  use_.close();
  std::vector<finding> found;
  if (!use_.worst() || use_.worst()->kept_bytes < least_pinned) return found;
  const hollow_pages& worst = *use_.worst();
  const std::vector<pin_group> groups = pin_groups(worst, least_pinned / page_bytes);
  if (groups.empty()) return found;
  pin_replay replay(fine_sites_, groups, course_, worst.stretch);
  again([&](const trace::step& s) { replay.count(s); });
  const std::vector<pin_saving> savings =
      worst.is_end ? replay.at_end() : replay.least_in_stretch();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (savings[i].pages <= 0) continue;
    const std::uint64_t saved = static_cast<std::uint64_t>(savings[i].pages) * page_bytes;
    if (saved < least_pinned || saved * 100 < savings[i].held_pages * page_bytes * pinned_percent)
      continue;
    finding f = begun(groups[i]);
    if (f.calls.empty()) continue;
    const group_figures& did = replay.figures()[i];
    f.bytes_saved_after_peak = saved;
    f.held_bytes = savings[i].held_pages * page_bytes;
    f.bytes_by_class = savings[i].pages_by_class * page_bytes;
    f.allocations = did.births;
    f.most_live = did.most_live;
    f.bytes_at_peak = did.bytes_at_peak;
    found.push_back(std::move(f));
  }
  return found;
}

std::vector<pinned_line> pin_finder::lines(const hollow_pages& at) const {
  std::vector<pinned_line> all;
  std::unordered_map<std::uint32_t, std::size_t> index_of;  // by line
  const auto line_at = [&](std::uint32_t line) -> pinned_line& {
    const auto [place, is_new] = index_of.try_emplace(line, all.size());
    if (is_new) all.push_back({call_of(line), line, {}, 0});
    return all[place->second];
  };
  for (const auto& [stack, figures] : at.by_stack) {
    const std::uint32_t line = line_of(fine_sites_.of(stack));
    if (line == stack_sites::nobody) continue;
    pin_figures& sum = line_at(line).figures;
    sum.pinned_bytes += figures.pinned_bytes;
    sum.live_bytes += figures.live_bytes;
    sum.blocks += figures.blocks;
  }
  for (const auto& [holders, held] : at.by_holders) {
    if (holders.sites.empty()) continue;
    const std::uint32_t line = line_of(holders.sites.front());
    const bool is_alone = std::ranges::all_of(
        holders.sites, [&](std::uint32_t fine) { return line_of(fine) == line; });
    if (is_alone && line != stack_sites::nobody) line_at(line).pages_alone += held.pages;
  }
  std::ranges::sort(all, [](const pinned_line& a, const pinned_line& b) {
    return std::pair(b.figures.pinned_bytes, a.site) < std::pair(a.figures.pinned_bytes, b.site);
  });
  return all;
}

}  // namespace ashlar::findings
