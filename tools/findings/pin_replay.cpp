// tools/findings/pin_replay.cpp. Layer: findings.
#include "tools/findings/pin_replay.hpp"

#include <algorithm>

#include <ashlar/heap/class_table.hpp>

namespace ashlar::findings {

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
  made = {plain_address(s.address), bytes_taken(s.size), others, 0, classes_.take(s.size)};
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
  classes_.give(dead.class_slab);
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
    now.push_back(
        {static_cast<std::int64_t>(only_[i] - pools_[i].pages()), held_pages_, classes_.pages()});
  return now;
}

void pin_replay::note() {
  const std::vector<pin_saving> now = at_end();
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i].pages < least_[i].pages) least_[i] = now[i];
}

}  // namespace ashlar::findings
