// tools/findings/rules.cpp. Layer: findings.
#include "tools/findings/rules.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "tools/findings/call_owner.hpp"

namespace ashlar::findings {
namespace {

using namespace thresholds;

// Without overflow: a damaged trace may say anything.
bool is_percent_of(std::uint64_t part, std::uint64_t percent, std::uint64_t whole) {
  return static_cast<double>(part) * 100 >=
         static_cast<double>(percent) * static_cast<double>(whole);
}

bool saves_bytes(const finding& f, const run_totals& run) {
  return f.bytes_saved_at_peak >= least_bytes &&
         is_percent_of(f.bytes_saved_at_peak, percent_of_run, run.peak_bytes);
}

bool is_worth_it(const finding& f, const run_totals& run) {
  return saves_bytes(f, run) || f.address_space_saved_at_peak != 0 ||
         (f.allocations_saved >= least_allocations &&
          is_percent_of(f.allocations_saved, percent_of_run, run.births));
}

std::uint64_t less(std::uint64_t from, std::uint64_t what) { return from - std::min(from, what); }

std::uint64_t chunks_of(std::uint64_t bytes) { return (bytes + chunk_bytes - 1) / chunk_bytes; }

// The one size that nearly all blocks have; null: none.
const size_history* common_size(const site_history& h) {
  const auto most = std::ranges::max_element(h.sizes, {}, &size_history::births);
  return most != h.sizes.end() && is_percent_of(most->births, fitting, h.births) ? &*most : nullptr;
}

// What blocks of exactly their size save beside the allocator's.
std::uint64_t rounding_at_peak(const size_history& of, rounding by) {
  return less(block_size_of(of.size, by).bytes, of.size) * of.blocks_at_peak;
}

// A finding of this kind at this site, with the figures that all kinds have.
finding begun(finding_kind kind, const site& at, const site_history& h) {
  finding f;
  f.kind = kind;
  f.calls = at.calls;
  f.owner = at.owner;
  if (at.owner > 0) f.through = short_name(function_of(at.calls[at.owner - 1]));
  f.allocations = h.births;
  f.bytes_at_peak = h.bytes_at_peak;
  f.most_live = h.most_live;
  f.main_stack = h.main_stack;
  return f;
}

// A container that the program's line itself works on. Others, as inside of std::regex, cannot be
// told to reserve.
bool can_reserve(const site& at) {
  if (at.first_own == 0) return true;
  static constexpr const char* containers[] = {
      "std::vector::",       "std::basic_string::", "std::__cxx11::basic_string::",
      "std::unordered_",     "std::__1::vector::",  "std::__1::basic_string::",
      "std::__1::unordered_"};
  const std::string through = short_name(function_of(at.calls[at.first_own - 1]));
  if (!through.starts_with("std::")) return true;  // the program's own realloc, or its wrapper
  return std::ranges::any_of(containers,
                             [&](const char* name) { return through.starts_with(name); });
}

std::optional<finding> growth(const site& at, const site_history& h) {
  const std::uint64_t steps = h.grown_by_realloc + h.grown_by_copy;
  if (steps == 0 || !is_percent_of(steps, growth_fitting, h.births) ||
      !is_percent_of(steps, fitting, steps + h.replaced_by_smaller) ||
      steps < steps_a_chain * h.outgrown_first || !can_reserve(at))
    return std::nullopt;
  finding f = begun(finding_kind::growth, at, h);
  f.how_sure = h.grown_by_realloc >= h.grown_by_copy ? sureness::seen : sureness::inferred;
  f.fitting = steps;
  f.chains = h.outgrown_first;
  f.allocations_saved = steps;
  f.bytes_saved_at_peak = h.outgrown_at_peak;
  return f;
}

std::optional<finding> short_lived(const site& at, const site_history& h) {
  if (!is_percent_of(h.short_lived, fitting, h.births)) return std::nullopt;
  finding f = begun(finding_kind::short_lived, at, h);
  f.fitting = h.short_lived;
  f.allocations_saved = less(h.births, h.most_live);
  return f;
}

std::optional<finding> handoff(const site& at, const site_history& h) {
  if (!is_percent_of(h.handed_over, fitting, h.births)) return std::nullopt;
  finding f = begun(finding_kind::handoff, at, h);
  f.fitting = h.handed_over;
  f.allocations_saved = less(h.births, h.most_live);
  return f;
}

std::optional<finding> together(const site& at, const site_history& h) {
  if (h.bursts < thresholds::bursts || !is_percent_of(h.in_bursts, fitting, h.births) ||
      h.bytes / h.births > small_block)
    return std::nullopt;
  finding f = begun(finding_kind::together, at, h);
  f.fitting = h.in_bursts;
  f.bursts = h.bursts;
  f.allocations_saved = less(h.in_bursts, h.burst_chunks);
  if (const size_history* const one = common_size(h)) {
    f.block_bytes = one->size;
    f.bytes_saved_at_peak = rounding_at_peak(*one, h.by);
  }
  return f;
}

std::optional<finding> pool(const site& at, const site_history& h) {
  const size_history* const one = common_size(h);
  if (one == nullptr || one->size > small_block || h.most_live < pool_live) return std::nullopt;
  const bool are_nodes = is_container_node(std::span(at.calls).first(at.first_own));
  if (!are_nodes && h.births < pool_turnover * h.most_live) return std::nullopt;
  finding f = begun(are_nodes ? finding_kind::nodes : finding_kind::pool, at, h);
  f.how_sure = are_nodes ? sureness::inferred : sureness::seen;
  f.fitting = one->births;
  f.block_bytes = one->size;
  f.allocations_saved = less(h.births, chunks_of(h.most_live * one->size));
  f.bytes_saved_at_peak = rounding_at_peak(*one, h.by);
  return f;
}

std::optional<finding> hot_loop(const site& at, const site_history& h) {
  if (h.births < hot_allocations || h.births < hot_turnover * h.most_live ||
      h.most_live >= pool_live)
    return std::nullopt;
  finding f = begun(finding_kind::hot_loop, at, h);
  f.fitting = h.births;
  f.allocations_saved = less(h.births, h.most_live);
  return f;
}

std::optional<finding> slack(const site& at, const site_history& h) {
  std::optional<finding> most;
  for (const size_history& one : h.sizes) {
    const block_size block = block_size_of(one.size, h.by);
    if (one.size < slack_least_size || block.smaller == 0) continue;
    if (one.size - block.serves > one.size / slack_excess) continue;
    finding f = begun(finding_kind::slack, at, h);
    f.fitting = one.blocks_at_peak;
    f.block_bytes = one.size;
    f.smaller_bytes = one.size - block.serves;
    f.saved_a_block = block.bytes - block.smaller;
    f.bytes_saved_at_peak = f.saved_a_block * one.blocks_at_peak;
    if (!most || f.bytes_saved_at_peak > most->bytes_saved_at_peak) most = std::move(f);
  }
  return most;
}

std::optional<finding> untouched(const site& at, const site_history& h, const run_totals& run) {
  if (h.untouched_at_peak < least_untouched ||
      !is_percent_of(h.untouched_at_peak, percent_of_run, run.peak_bytes) ||
      !is_percent_of(h.untouched_bytes, untouched_share, h.looked_at_bytes))
    return std::nullopt;
  finding f = begun(finding_kind::untouched, at, h);
  f.fitting = h.hollow;
  f.looked_at = h.looked_at;
  f.largest_bytes = h.largest_hollow;
  f.untouched_bytes = h.untouched_bytes;
  f.address_space_saved_at_peak = h.untouched_at_peak;
  return f;
}

// What describes a site best comes first: blocks that are outgrown die near, too, and blocks that
// die together come and go.
constexpr std::optional<finding> (*exclusive_rules[])(const site&, const site_history&) = {
    growth, short_lived, handoff, together, pool, hot_loop};

std::optional<finding> exclusive(const site& at, const site_history& h) {
  std::optional<finding> found;
  if (h.births == 0) return found;
  for (const auto rule : exclusive_rules)
    if (!found) found = rule(at, h);
  return found;
}

// What one finding is about. Blocks that live for a moment need one change in all of a function,
// where it was called from one place; everything else is about a line.
using finding_key = std::tuple<finding_kind, std::string, std::string, std::uint64_t>;
finding_key key_of(const finding& f) {
  const trace::named_call& owner = f.calls[f.owner];
  const std::uint64_t size = f.kind == finding_kind::slack ? f.block_bytes : 0;
  if (f.kind != finding_kind::short_lived && f.kind != finding_kind::hot_loop)
    return {f.kind, owner.text(), {}, size};
  const bool has_caller = f.owner + 1 < f.calls.size();
  return {f.kind, std::string(function_of(owner)),
          has_caller ? f.calls[f.owner + 1].text() : owner.text(), size};
}

void add(finding& to, const finding& more) {
  to.bytes_saved_at_peak += more.bytes_saved_at_peak;
  to.allocations_saved += more.allocations_saved;
  to.address_space_saved_at_peak += more.address_space_saved_at_peak;
  to.allocations += more.allocations;
  to.bytes_at_peak += more.bytes_at_peak;
  to.most_live += more.most_live;
  to.fitting += more.fitting;
  to.chains += more.chains;
  to.looked_at += more.looked_at;
  to.largest_bytes = std::max(to.largest_bytes, more.largest_bytes);
  to.untouched_bytes += more.untouched_bytes;
  to.bursts = std::max(to.bursts, more.bursts);
  if (more.block_bytes != to.block_bytes) to.block_bytes = 0;
  if (more.how_sure == sureness::inferred) to.how_sure = sureness::inferred;
  const trace::named_call& owner = more.calls[more.owner];
  const auto is_owner = [&](const trace::named_call& known) {
    return known.text() == owner.text();
  };
  if (!is_owner(to.calls[to.owner]) && std::ranges::none_of(to.also, is_owner))
    to.also.push_back(owner);
}

struct judgement {
  finding found;
  burst when;  // of together
};

// Effects: the most valuable first; what has its key is added to it.
void merge(std::vector<judgement>& all) {
  std::ranges::sort(all, [](const judgement& a, const judgement& b) {
    return std::tuple(b.found.allocations_saved, a.found.main_stack) <
           std::tuple(a.found.allocations_saved, b.found.main_stack);
  });
  std::vector<judgement> merged;
  std::map<finding_key, std::size_t> known;
  for (judgement& each : all) {
    const auto [at, is_new] = known.emplace(key_of(each.found), merged.size());
    if (is_new) {
      merged.push_back(std::move(each));
    } else {
      add(merged[at->second].found, each.found);
    }
  }
  all = std::move(merged);
}

bool overlap(const burst& a, const burst& b) {
  return a.thread == b.thread && a.first <= b.last && b.first <= a.last;
}

// Blocks of several sites that die at the same moments need one arena.
void join_bursts(std::vector<judgement>& all) {
  std::vector<judgement> joined;
  std::vector<judgement> others;
  for (judgement& each : all) {
    if (each.found.kind != finding_kind::together) {
      others.push_back(std::move(each));
      continue;
    }
    const auto same = std::ranges::find_if(joined, [&](const judgement& known) {
      return each.found.bursts == known.found.bursts && overlap(each.when, known.when);
    });
    if (same == joined.end()) {
      joined.push_back(std::move(each));
    } else {
      add(same->found, each.found);
    }
  }
  std::move(joined.begin(), joined.end(), std::back_inserter(others));
  all = std::move(others);
}

}  // namespace

namespace {

// What grows for ever comes first, then what keeps memory after its use.
int urgency_of(const finding& of) {
  switch (of.kind) {
    case finding_kind::leak:
      return 3;
    case finding_kind::rising:  // a list that grows may be what the program is for
      return of.fitting * 2 < of.allocations ? 2 : 0;
    case finding_kind::pins:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

void rank(std::vector<finding>& findings) {
  std::ranges::sort(findings, [](const finding& a, const finding& b) {
    return std::tuple(urgency_of(b), b.bytes_saved(), b.allocations_saved,
                      b.address_space_saved_at_peak, a.main_stack) <
           std::tuple(urgency_of(a), a.bytes_saved(), a.allocations_saved,
                      a.address_space_saved_at_peak, b.main_stack);
  });
}

std::vector<finding> judged(const judged_sites& own, const judged_sites& callers,
                            const std::vector<std::uint32_t>& inner, const run_totals& run) {
  std::vector<judgement> all;
  std::vector<bool> is_explained(own.sites.size());
  for (std::size_t i = 0; i < own.sites.size(); ++i) {
    const site_history& h = own.histories[i];
    std::optional<finding> found = exclusive(own.sites[i], h);
    is_explained[i] = found.has_value();
    if (std::optional<finding> wasted = slack(own.sites[i], h)) {
      // The rounding that an arena or a pool would save is told once, by what is easier to change.
      if (found && is_worth_it(*wasted, run) && found->kind != finding_kind::growth)
        found->bytes_saved_at_peak = 0;
      all.push_back({std::move(*wasted), {}});
    }
    if (found) all.push_back({std::move(*found), h.last_burst});
    if (std::optional<finding> hollow = untouched(own.sites[i], h, run))
      all.push_back({std::move(*hollow), {}});
  }
  for (std::size_t i = 0; i < callers.sites.size(); ++i) {
    if (is_explained[inner[i]]) continue;
    const site_history& h = callers.histories[i];
    if (std::optional<finding> found = exclusive(callers.sites[i], h))
      all.push_back({std::move(*found), h.last_burst});
  }
  merge(all);
  join_bursts(all);

  std::vector<finding> findings;
  for (judgement& each : all) {
    if (!is_worth_it(each.found, run)) continue;
    if (!saves_bytes(each.found, run)) each.found.bytes_saved_at_peak = 0;
    findings.push_back(std::move(each.found));
  }
  rank(findings);
  return findings;
}

}  // namespace ashlar::findings
