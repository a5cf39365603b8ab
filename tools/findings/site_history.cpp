// tools/findings/site_history.cpp. Layer: findings.
#include "tools/findings/site_history.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/findings/call_owner.hpp"
#include "tools/findings/rules.hpp"

namespace ashlar::findings {

namespace {

// The new block comes, its elements are moved, and the old block goes: at most one other call
// between.
constexpr std::uint64_t calls_of_a_copy = 2;

}  // namespace

site_histories::site_histories(const site_table& sites, owned_by whom, rounding by)
    : sites_(sites),
      whom_(whom),
      by_(by),
      accounts_(sites.sites(whom).size()),
      stack_births_(sites.stacks()),
      live_blocks_(sites.sites(whom).size()),
      live_bytes_(sites.sites(whom).size()),
      large_blocks_(sites.sites(whom).size()),
      size_blocks_(0) {}

site_histories::thread_state& site_histories::thread(std::uint32_t number) {
  if (last_thread_ == nullptr || last_number_ != number) {
    last_thread_ = &threads_[number];
    last_number_ = number;
  }
  return *last_thread_;
}

void site_histories::count(const trace::step& s) {
  const bool is_peak = counts_.count(s);
  if (s.happened == trace::step::what::birth) birth(s);
  if (s.happened == trace::step::what::death) death(s);
  if (s.kind == trace::event_kind::untouched && s.slot != trace::no_slot) look(s);
  if (is_peak) mark_peak();
}

void site_histories::mark_peak() {
  live_blocks_.mark();
  live_bytes_.mark();
  large_blocks_.mark();
  size_blocks_.mark();
  peak_order_ = order_;
  peak_outgrown_bytes_ = 0;
}

void site_histories::birth(const trace::step& s) {
  thread_state& by = thread(s.thread);
  ++by.calls;
  ++by.births;
  ++order_;
  if (s.slot >= blocks_.size()) blocks_.resize(s.slot + std::size_t{1});
  block& made = blocks_[s.slot];
  const site_table::place place = sites_.of(s.stack);
  const std::uint32_t site = place.site(whom_);
  made = {by.calls, order_, s.size, site, 0, 0, false, false};
  by.may_outgrow = false;
  if (site == site_table::nobody) return;
  account& to = accounts_[site];
  site_history& h = to.history;
  ++h.births;
  h.bytes += s.size;
  if (++stack_births_[place.stack] > h.main_stack_births) {
    h.main_stack_births = stack_births_[place.stack];
    h.main_stack = place.stack;
  }
  h.most_live = std::max(h.most_live, ++to.live);
  live_blocks_.add(site, 1);
  live_bytes_.add(site, static_cast<std::int64_t>(s.size));
  if (s.size >= large_block) large_blocks_.add(site, 1);
  count_size(to, made, s.size);
  if (to.now.is_dying) to.now.is_mixed = true;
  ++to.now.births;
  to.now.bytes += s.size;
  count_growth(by, s, made, to);
}

void site_histories::count_size(account& of, block& made, std::uint64_t size) {
  std::vector<size_history>& sizes = of.history.sizes;
  const auto found = std::ranges::find(sizes, size, &size_history::size);
  auto index = static_cast<std::size_t>(found - sizes.begin());
  if (found == sizes.end()) {
    if (sizes.size() == sizes_a_site) return;
    sizes.push_back({size, 0, 0});
    of.size_counts.push_back(size_blocks_.add_count());
  }
  ++sizes[index].births;
  size_blocks_.add(of.size_counts[index], 1);
  made.size_index = static_cast<std::uint32_t>(index);
  made.has_size = true;
}

void site_histories::count_growth(thread_state& of, const trace::step& s, block& made,
                                  account& to) {
  const bool is_realloc = s.kind == trace::event_kind::by_realloc;
  if (is_realloc && s.previous != trace::no_slot && s.size > of.given_up_bytes) {
    made.growth = of.given_up_growth + 1;
    ++to.history.grown_by_realloc;
    to.history.outgrown_first += of.given_up_growth == 0 ? 1 : 0;
    to.history.outgrown_bytes += of.given_up_bytes;
  }
  of.may_outgrow = !is_realloc || s.previous == trace::no_slot;
  to.before_last = to.last_block.order;
  of.last_block = to.last_block = made;
  of.last_slot = to.last_slot = s.slot;
}

void site_histories::death(const trace::step& s) {
  thread_state& by = thread(s.thread);
  ++by.calls;
  const block dead = s.slot < blocks_.size() ? blocks_[s.slot] : block();
  const bool is_realloc = s.kind == trace::event_kind::from_realloc;
  if (is_realloc) {
    by.given_up_bytes = s.size;
    by.given_up_growth = dead.growth;
  }
  if (dead.site == site_table::nobody) return;
  account& of = accounts_[dead.site];
  --of.live;
  live_blocks_.add(dead.site, -1);
  live_bytes_.add(dead.site, -static_cast<std::int64_t>(s.size));
  if (s.size >= large_block) large_blocks_.add(dead.site, -1);
  if (dead.has_size) size_blocks_.add(of.size_counts[dead.size_index], -1);

  generation& now = of.now;
  if (!now.is_dying) {
    now.is_dying = true;
    now.thread = s.thread;
    now.first_death = by.calls;
    now.births_then = by.births;
  }
  // A block that ends with its program, or whose death is missing, was not freed.
  if (is_realloc || !trace::is_death(s.kind) || now.thread != s.thread) now.is_mixed = true;
  if (of.live == 0) end_generation(of, by);
  if (is_realloc || !trace::is_death(s.kind)) return;

  if (s.born_by != s.thread) {
    ++of.history.handed_over;
    return;
  }
  if (by.calls - dead.call <= near_calls) ++of.history.short_lived;
  count_copy(by, s, dead, of);
}

// What nobody has touched until now, nobody had touched at the peak before.
void site_histories::look(const trace::step& s) {
  block& at = blocks_[s.slot];
  if (at.site == site_table::nobody || at.bytes < large_block || at.was_looked_at) return;
  at.was_looked_at = true;
  account& of = accounts_[at.site];
  site_history& h = of.history;
  ++h.looked_at;
  h.looked_at_bytes += at.bytes;
  const std::uint64_t untouched = s.size >= at.bytes / 2 ? s.size : 0;
  if (untouched != 0) {
    ++h.hollow;
    h.largest_hollow = std::max(h.largest_hollow, at.bytes);
    h.untouched_bytes += untouched;
  }
  if (at.order > peak_order_) return;
  if (of.looks_peak_order != peak_order_) {
    of.looks_peak_order = peak_order_;
    of.looks_at_peak = 0;
    h.untouched_at_peak = 0;
  }
  ++of.looks_at_peak;
  h.untouched_at_peak += untouched;
}

// The thread's last birth may have taken the place of this block. If the elements have blocks, too, these
// are copied between: then it is the site's last birth, of twice the size.
void site_histories::count_copy(thread_state& by, const trace::step& s, const block& dead,
                                account& of) {
  const bool is_at_once = by.may_outgrow && by.last_block.site == dead.site &&
                          by.last_block.order > dead.order &&
                          by.calls - by.last_block.call <= calls_of_a_copy;
  const bool is_twice = of.before_last == dead.order && of.last_block.bytes == 2 * s.size;
  if (!is_at_once && !is_twice) return;
  const block& last = is_at_once ? by.last_block : of.last_block;
  if (is_at_once) by.may_outgrow = false;
  site_history& h = of.history;
  if (last.bytes <= s.size) {
    ++h.replaced_by_smaller;
    return;
  }
  ++h.grown_by_copy;
  h.outgrown_first += dead.growth == 0 ? 1 : 0;
  h.outgrown_bytes += s.size;
  block& successor = blocks_[is_at_once ? by.last_slot : of.last_slot];
  if (successor.order == last.order) successor.growth = dead.growth + 1;
  if (last.order == peak_order_) {
    peak_site_ = dead.site;
    peak_outgrown_bytes_ = s.size;
  }
}

void site_histories::end_generation(account& of, const thread_state& by) {
  const generation& ended = of.now;
  if (!ended.is_mixed && ended.births >= least_burst &&
      (by.births - ended.births_then) * deaths_a_birth <= ended.births) {
    of.history.in_bursts += ended.births;
    ++of.history.bursts;
    of.history.burst_chunks += (ended.bytes + chunk_bytes - 1) / chunk_bytes;
    of.history.last_burst = {ended.thread, ended.first_death, by.calls};
  }
  of.now = generation();
}

std::vector<site_history> site_histories::histories() const {
  std::vector<site_history> all;
  all.reserve(accounts_.size());
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    site_history h = accounts_[i].history;
    h.by = by_;
    h.blocks_at_peak = static_cast<std::uint64_t>(live_blocks_.at_mark(i));
    h.bytes_at_peak = static_cast<std::uint64_t>(live_bytes_.at_mark(i));
    for (std::size_t k = 0; k < h.sizes.size(); ++k)
      h.sizes[k].blocks_at_peak =
          static_cast<std::uint64_t>(size_blocks_.at_mark(accounts_[i].size_counts[k]));
    const account& of = accounts_[i];
    const auto large_at_peak = static_cast<std::uint64_t>(large_blocks_.at_mark(i));
    if (of.looks_peak_order != peak_order_) h.untouched_at_peak = 0;
    if (h.looked_at >= looks_of_stack && of.looks_at_peak != 0 && of.looks_at_peak < large_at_peak)
      h.untouched_at_peak = h.untouched_at_peak / of.looks_at_peak * large_at_peak;
    if (i == peak_site_) h.outgrown_at_peak = peak_outgrown_bytes_;
    all.push_back(std::move(h));
  }
  return all;
}

using namespace thresholds;

std::vector<finding> rising_findings(const ashlar::sites::growing_sites& growing,
                                     const run_totals& run, const std::vector<finding>& others) {
  struct line {
    finding of;
    std::uint64_t allocated = 0, at_end = 0;
  };
  std::map<std::string, line> lines;
  for (const ashlar::sites::growing_site& site : growing.sites) {
    const std::optional<std::size_t> owner = line_of(site.calls);
    if (!owner) continue;
    line& to = lines[site.calls[*owner].text()];
    finding& f = to.of;
    if (f.calls.empty()) {  // the steepest is first
      f.how_sure = sureness::inferred;
      f.calls = site.calls;
      f.owner = *owner;
      f.main_stack = site.stack;
      f.rose_for_seconds = growing.seconds;
      f.confidence = site.how.confidence;
    }
    f.confidence = std::min(f.confidence, site.how.confidence);
    f.allocations += site.births;
    f.fitting += site.grown;
    f.bytes_saved_at_end += static_cast<std::uint64_t>(site.bytes);
    to.allocated += site.bytes_allocated;
    to.at_end += site.bytes_at_end;
    f.bytes_lost += site.bytes_lost;
  }
  for (const finding& other : others) {
    if (other.kind != finding_kind::growth) continue;
    const auto same = lines.find(other.calls[other.owner].text());
    if (same != lines.end())
      same->second.of.fitting = std::max(same->second.of.fitting, other.fitting);
  }
  std::vector<finding> found;
  for (auto& [text, each] : lines) {
    const bool is_kept = growing.was_searched ? each.of.bytes_lost >= each.of.bytes_saved_at_end / 2
                                              : each.at_end * 100 >= each.allocated * fitting;
    const auto percent = static_cast<double>(is_kept ? percent_of_run : rising_percent);
    // A slope may say more than there is.
    each.of.bytes_saved_at_end =
        std::min(each.of.bytes_saved_at_end, is_kept ? each.at_end : run.peak_bytes);
    const auto bytes = static_cast<double>(each.of.bytes_saved_at_end);
    if (each.of.bytes_saved_at_end < least_bytes ||
        bytes * 100 < percent * static_cast<double>(run.peak_bytes))
      continue;
    each.of.kind = is_kept ? finding_kind::leak : finding_kind::rising;
    found.push_back(std::move(each.of));
  }
  return found;
}

}  // namespace ashlar::findings
