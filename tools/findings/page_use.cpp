// tools/findings/page_use.cpp. Layer: findings.
#include "tools/findings/page_use.hpp"

namespace ashlar::findings {
namespace {

constexpr std::uint32_t not_hollow = UINT32_MAX;

}  // namespace

void page_use::count(const trace::step& s) {
  const std::size_t stretch = course_.next(s.time);
  while (moments_.size() < stretch) close_stretch();
  now_.time = std::max(now_.time, s.time);
  if (s.happened == trace::step::what::birth) {
    if (s.slot >= blocks_.size()) blocks_.resize(s.slot + std::size_t{1});
    blocks_[s.slot] = {plain_address(s.address), bytes_taken(s.size), s.stack};
    change(blocks_[s.slot], true);
    ++live_blocks_;
    now_.live_bytes += s.size;
    peak_bytes_ = std::max(peak_bytes_, now_.live_bytes);
    // The memory is needed again, so it was no waste to keep it.
    if (now_.live_bytes >= peak_bytes_ / 4 * 3) worst_.reset();
  } else if (s.happened == trace::step::what::death) {
    change(blocks_[s.slot], false);
    blocks_[s.slot].taken = 0;
    --live_blocks_;
    now_.live_bytes -= s.size;
  }
  least_pinned_ = std::min(least_pinned_, now_.pinned_bytes);
}

void page_use::change(const block& b, bool is_birth) {
  const std::uint64_t inner = page_table::inner_pages(b.address, b.taken);
  now_.held_pages += is_birth ? inner : 0 - inner;
  table_.for_each_page(b.address, b.taken, [&](std::uint32_t index, std::uint32_t bytes) {
    if (index >= pages_.size()) pages_.resize(table_.size());
    page& p = pages_[index];
    const bool was_hollow = p.is_hollow();
    now_.pinned_bytes -= p.pinned();
    now_.held_pages -= p.live != 0 ? 1 : 0;
    p.live = is_birth ? p.live + bytes : p.live - bytes;
    p.most = p.live == 0 ? 0 : std::max(p.most, p.live);
    now_.held_pages += p.live != 0 ? 1 : 0;
    now_.pinned_bytes += p.pinned();
    now_.hollow_pages += static_cast<std::uint64_t>(p.is_hollow()) - (was_hollow ? 1 : 0);
  });
}

void page_use::close_stretch() {
  moments_.push_back(now_);
  // Blocks that go one after the other leave few in each page, too, but it is not what stays.
  const std::uint64_t fell = begin_blocks_ - std::min(begin_blocks_, live_blocks_);
  const bool lasted = fell * 10 <= begin_blocks_ && fell * 200 <= course_.events();
  hollow_pages found = sweep();
  found.kept_bytes = lasted ? least_pinned_ : 0;
  if (found.kept_bytes > (worst_ ? worst_->kept_bytes : 0)) worst_ = std::move(found);
  begin_blocks_ = live_blocks_;
  least_pinned_ = now_.pinned_bytes;
}

void page_use::close() {
  while (moments_.size() < run_course::stretches) close_stretch();
  at_end_ = sweep();
  at_end_.is_end = true;
  at_end_.kept_bytes = now_.pinned_bytes;
  if (at_end_.kept_bytes > (worst_ ? worst_->kept_bytes : 0)) worst_ = at_end_;
}

// What a block has in hollow pages: its part of what is left there, so that the parts add up.
void page_use::share(const block& b, std::vector<hollow>& all, hollow_pages& to) {
  const std::uint32_t site = sites_.of(b.stack);
  bool is_first = true;
  table_.for_each_page(b.address, b.taken, [&](std::uint32_t index, std::uint32_t bytes) {
    const bool begins_here = std::exchange(is_first, false);
    if (hollows_[index] == not_hollow) return;
    hollow& in = all[hollows_[index]];
    const std::uint64_t pinned = in.pinned_left * bytes / in.live_left;
    in.pinned_left -= pinned;
    in.live_left -= bytes;
    pin_figures& f = to.by_stack[b.stack];
    f.pinned_bytes += pinned;
    f.live_bytes += bytes;
    f.blocks += begins_here ? 1 : 0;
    std::vector<std::uint32_t>& sites = in.holders.sites;
    const auto place = std::ranges::lower_bound(sites, site);
    if (sites.size() <= page_holders::most && (place == sites.end() || *place != site))
      sites.insert(place, site);
  });
}

hollow_pages page_use::sweep() {
  hollow_pages found;
  found.stretch = moments_.size() - 1;
  found.figures = now_;
  std::vector<hollow> all;
  hollows_.assign(pages_.size(), not_hollow);
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (!pages_[i].is_hollow()) continue;
    hollows_[i] = static_cast<std::uint32_t>(all.size());
    all.push_back({pages_[i].live, pages_[i].pinned(), {}});
  }
  if (!all.empty()) {
    for (const block& b : blocks_)
      if (b.taken != 0) share(b, all, found);
  }
  for (hollow& each : all)
    if (each.holders.sites.size() > page_holders::most) each.holders.sites.clear();
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (hollows_[i] == not_hollow) continue;
    held_pages& held = found.by_holders[all[hollows_[i]].holders];
    ++held.pages;
    held.pinned_bytes += pages_[i].pinned();
  }
  if (changes_.size() < moments_.size()) note_changes(all);
  return found;
}

void page_use::note_changes(const std::vector<hollow>& all) {
  std::vector<page_change>& changed = changes_.emplace_back();
  shown_.resize(pages_.size(), page_change::free);
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    std::uint32_t state = pages_[i].live == 0 ? page_change::free : page_change::in_use;
    if (hollows_[i] != not_hollow) {
      const std::vector<std::uint32_t>& sites = all[hollows_[i]].holders.sites;
      state =
          sites.size() == 1 ? sites.front() + page_change::held_by : page_change::held_by_several;
    }
    if (state == shown_[i]) continue;
    shown_[i] = state;
    changed.push_back({static_cast<std::uint32_t>(i), state});
  }
}

}  // namespace ashlar::findings
