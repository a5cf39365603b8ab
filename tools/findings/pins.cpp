// tools/findings/pins.cpp. Layer: findings.
#include "tools/findings/pins.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <ashlar/heap/class_table.hpp>

#include "tools/findings/call_owner.hpp"

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

pool_pages::slab pool_pages::shape_for(std::uint64_t size) {
  using ashlar::detail::class_table;
  using ashlar::detail::standard_classes;
  const std::uint64_t taken = bytes_taken(size);
  constexpr std::uint64_t largest_in_slab = 16 * 1024;
  if (taken > largest_in_slab || !class_table::serves(taken, 0))
    return {taken, static_cast<std::uint32_t>((taken + page_bytes - 1) / page_bytes), 1, 0};
  const std::uint64_t block = standard_classes.block_size(standard_classes.of_size(taken));
  const std::uint32_t pages = block <= 512 ? 1 : block <= 2048 ? 4 : 16;
  return {block, pages, static_cast<std::uint32_t>(pages * page_bytes / block), 0};
}

std::uint32_t pool_pages::take(std::uint64_t size) {
  slab shape = shape_for(size);
  std::vector<std::uint32_t>& open = with_room_[shape.block_bytes];
  if (open.empty()) {
    open.push_back(static_cast<std::uint32_t>(slabs_.size()));
    slabs_.push_back(shape);
  }
  const std::uint32_t index = open.back();
  slab& from = slabs_[index];
  if (from.live == 0) pages_ += from.pages;
  if (++from.live == from.capacity) open.pop_back();
  return index;
}

void pool_pages::give(std::uint32_t index) {
  slab& to = slabs_[index];
  if (to.live == to.capacity) with_room_[to.block_bytes].push_back(index);
  if (--to.live == 0) pages_ -= to.pages;
}

pin_replay::pin_replay(const stack_sites& sites, const std::vector<pin_group>& groups,
                       const run_course& course, std::size_t stretch)
    : sites_(sites),
      course_(course),
      stretch_(stretch),
      pools_(groups.size()),
      figures_(groups.size()) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const std::uint32_t site : groups[i].sites)
      group_of_[site] = static_cast<std::uint32_t>(i);
}

std::size_t pin_replay::only_group(const page& of) {
  std::size_t only = most_pin_groups + 1;  // none
  for (std::size_t group = 0; group < of.blocks.size(); ++group) {
    if (of.blocks[group] == 0) continue;
    if (only <= most_pin_groups) return others;
    only = group;
  }
  return only;
}

void pin_replay::change(const block& b, std::uint32_t by) {
  const std::uint64_t inner = page_table::inner_pages(b.address, b.taken);
  only_[b.group] += by == 1 ? inner : 0 - inner;
  held_pages_ += by == 1 ? inner : 0 - inner;
  table_.for_each_page(b.address, b.taken, [&](std::uint32_t index, std::uint32_t) {
    if (index >= pages_.size()) pages_.resize(table_.size());
    page& p = pages_[index];
    const std::size_t before = only_group(p);
    p.blocks[b.group] += by;
    const std::size_t after = only_group(p);
    --only_[before];
    ++only_[after];
    held_pages_ -= before <= most_pin_groups ? 1 : 0;
    held_pages_ += after <= most_pin_groups ? 1 : 0;
  });
}

void pin_replay::birth(const trace::step& s) {
  if (s.slot >= blocks_.size()) blocks_.resize(s.slot + std::size_t{1});
  block& made = blocks_[s.slot];
  made = {plain_address(s.address), bytes_taken(s.size), others, 0};
  const auto group = group_of_.find(sites_.of(s.stack));
  if (group != group_of_.end()) {
    made.group = group->second;
    made.slab = pools_[made.group].take(s.size);
    group_figures& f = figures_[made.group];
    ++f.births;
    f.live_bytes += s.size;
    f.most_live = std::max(f.most_live, ++f.live);
  }
  change(made, 1);
  live_bytes_ += s.size;
  if (live_bytes_ <= peak_bytes_) return;
  peak_bytes_ = live_bytes_;
  for (group_figures& f : figures_) f.bytes_at_peak = f.live_bytes;
}

void pin_replay::death(const trace::step& s) {
  const block& dead = blocks_[s.slot];
  if (dead.group != others) {
    pools_[dead.group].give(dead.slab);
    --figures_[dead.group].live;
    figures_[dead.group].live_bytes -= s.size;
  }
  change(dead, UINT32_MAX);
  live_bytes_ -= s.size;
}

void pin_replay::count(const trace::step& s) {
  const std::size_t stretch = course_.next(s.time);
  // What was so before the first step of the stretch, or behind it, was so in it.
  if (stretch >= stretch_ && !is_reached_) {
    is_reached_ = true;
    least_ = at_end();
  }
  if (s.happened == trace::step::what::birth) birth(s);
  if (s.happened == trace::step::what::death) death(s);
  if (stretch == stretch_) note();
}

std::vector<pin_saving> pin_replay::at_end() const {
  std::vector<pin_saving> now;
  now.reserve(pools_.size());
  for (std::size_t i = 0; i < pools_.size(); ++i)
    now.push_back({static_cast<std::int64_t>(only_[i] - pools_[i].pages()), held_pages_});
  return now;
}

void pin_replay::note() {
  const std::vector<pin_saving> now = at_end();
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i].pages < least_[i].pages) least_[i] = now[i];
}

using namespace thresholds;

pin_finder::pin_finder(const std::vector<trace::stack_definition>& stacks, names_of_stack names_of,
                       const site_table& sites, const run_course& course, placed_by where)
    : stacks_(stacks),
      names_of_(std::move(names_of)),
      table_(sites),
      course_(course),
      use_(fine_sites_, course),
      where_(where) {
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
  use_.count(where_ == placed_by::ashlar ? heap_.placed(s) : s);
  if (s.happened == trace::step::what::birth) ++births_[s.stack];
}

const site& pin_finder::named(std::uint32_t fine) const {
  const std::vector<site>& callers = table_.sites(owned_by::its_caller);
  return fine < callers.size() ? callers[fine]
                               : table_.sites(owned_by::first_own_call)[fine - callers.size()];
}

// Whether a line's blocks are often others' than those of the group: a helper, whose callers count.
bool pin_finder::has_other_callers(std::uint32_t line, const pin_group& group) const {
  std::uint64_t all = 0, others = 0;
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
  heap_placement heap;
  again([&](const trace::step& s) {
    replay.count(where_ == placed_by::ashlar ? heap.placed(s) : s);
  });
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
