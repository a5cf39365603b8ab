// tools/tune/workload.cpp. Layer: tune.
#include "tools/tune/workload.hpp"

#include <numeric>

#include <fmt/format.h>

namespace ashlar::tune {

namespace {

using profiling::pool_grid;

// Of each interval of the needs, the peak that the profile has.
profiling::interval_table peaks_between(const profiling::profile& runs,
                                        std::span<const block_need> by_size,
                                        std::uint64_t least_alignment) {
  profiling::interval_table peaks(by_size.size());
  for (std::size_t i = 0; i < by_size.size(); ++i) {
    // What is left out may be between two needs.
    const std::uint32_t first = pool_grid::step_of(by_size[i].size - least_alignment + 1);
    for (std::size_t j = i; j < by_size.size(); ++j)
      peaks.at(i, j) = runs.peak_between(first, pool_grid::step_of(by_size[j].size));
  }
  return peaks;
}

// Moments are numbered by 32 bits, peaks by 31.
constexpr std::uint64_t most_changes = INT32_MAX;

bool is_left_out(const trace::step& s, const input_request& request, const std::string& file) {
  const bool servable = pool_grid::serves(s.size, s.alignment);
  if (request.sizes == resolution::profile) {
    return !servable || needed_bytes(s.size, s.alignment, request.least_alignment, request.sizes) >
                            request.largest;
  }
  if (!servable && s.size <= request.largest) {
    throw impossible(fmt::format(
        "{}: a request of {} bytes at alignment {} is too large for a pool: --largest BYTES leaves "
        "large requests out",
        file, s.size, s.alignment));
  }
  return s.size > request.largest;
}

input_identity add_trace(const std::string& file, const input_request& request,
                         workload_builder& into, const progress& tell) {
  into.begin_trace();
  std::uint64_t changes = 0;
  const auto take = [&](const trace::step& s) {
    if (is_left_out(s, request, file)) return false;
    if (++changes > most_changes)
      throw impossible(fmt::format("{}: more than {} births and deaths", file, most_changes));
    if (s.happened == trace::step::what::birth) {
      into.birth(s.slot, s.size, s.alignment);
    } else {
      into.death(s.slot);
    }
    return true;
  };
  return read_trace(file, take, tell);
}

input_identity add_profile(const std::string& file, const input_request& request,
                           workload_builder& into) {
  if (request.sizes == resolution::exact) {
    throw impossible(fmt::format(
        "{}: a profile does not have the exact sizes: leave --resolution exact out, or give traces",
        file));
  }
  profile_input read = read_profile(file);
  const profile_limit limit{request.largest, request.largest_is_of_exact_sizes};
  into.add(read.runs, limit);
  for (const profiling::pool_row& row : read.runs.pools) {
    if (into.counts(row, limit)) continue;
    read.identity.births -= row.births;
    read.identity.left_out += row.births;
    read.identity.deaths -=
        std::accumulate(row.lifetimes.begin(), row.lifetimes.end(), std::uint64_t{0});
  }
  return read.identity;
}

}  // namespace

workload_builder::workload_builder(std::uint64_t least_alignment, resolution sizes)
    : least_alignment_(least_alignment), sizes_(sizes), near_(near_count, -1) {}

void workload_builder::begin_trace() { read_.traces.emplace_back(); }

void workload_builder::birth(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t needed = needed_bytes(size, alignment, least_alignment_, sizes_);
  alignment = std::max(alignment, least_alignment_);
  if (alignment > least_alignment_) note_over_aligned(alignment, needed, size);
  const std::int32_t need = number_of(needed, alignment);
  if (slot >= need_in_slot_.size())
    need_in_slot_.resize(std::max<std::size_t>(slot + std::size_t{1}, 2 * need_in_slot_.size()));
  need_in_slot_[slot] = need;
  read_.traces.back().push_back(need);
}

void workload_builder::death(std::uint32_t slot) {
  read_.traces.back().push_back(~need_in_slot_[slot]);
}

std::uint64_t workload_builder::needed_at(std::uint32_t step) const {
  return align_up(pool_grid::size_of(step), least_alignment_);
}

// Requests of up to `largest` bytes that are not over-aligned need no more than one of `largest`.
bool workload_builder::counts(const profiling::pool_row& row, const profile_limit& limit) const {
  const std::uint64_t largest_need =
      limit.is_of_exact_sizes
          ? needed_bytes(limit.largest, 0, least_alignment_, resolution::profile)
          : limit.largest;
  return needed_at(row.step) <= largest_need;
}
bool workload_builder::counts(const profiling::aligned_row& row, const profile_limit& limit) const {
  return (limit.is_of_exact_sizes ? row.smallest : needed_at(row.step)) <= limit.largest;
}

void workload_builder::add(const profiling::profile& runs, const profile_limit& limit) {
  begin_trace();  // an empty one: inputs have the same numbers as traces
  for (const profiling::pool_row& row : runs.pools) {
    if (counts(row, limit)) number_of(needed_at(row.step), least_alignment_);
  }
  for (const profiling::aligned_row& row : runs.aligned) {
    if (row.alignment <= least_alignment_ || !counts(row, limit)) continue;
    note_over_aligned(row.alignment, needed_at(row.step), row.smallest);
    number_of(needed_at(row.step), row.alignment);
  }
  if (!profiled_) profiled_.emplace();
  profiling::merge(*profiled_, runs);
}

void workload_builder::note_over_aligned(std::uint64_t alignment, std::uint64_t needed,
                                         std::uint64_t size) {
  std::uint64_t& least = over_aligned_.try_emplace({alignment, needed}, size).first->second;
  least = std::min(least, size);
}

std::int32_t workload_builder::number_of(std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t steps = size / least_alignment_;
  std::int32_t& known =
      steps < near_count ? near_[steps] : far_.try_emplace(size, -1).first->second;
  if (known < 0) {
    known = static_cast<std::int32_t>(read_.needs.size());
    read_.needs.push_back({size, alignment});
  }
  block_need& need = read_.needs[static_cast<std::size_t>(known)];
  need.alignment = std::max(need.alignment, alignment);
  return known;
}

void workload_builder::close_needs(std::vector<block_need>& by_size) const {
  for (const auto& [request, smallest] : over_aligned_) {
    const auto [alignment, needed] = request;
    for (block_need& need : by_size) {
      if (need.size >= needed) break;
      if (need.size >= smallest) need.closed_from = std::min(need.closed_from, alignment);
    }
  }
}

workload workload_builder::finish() {
  workload read = std::exchange(read_, {});
  const std::vector<block_need> found = std::move(read.needs);
  std::vector<std::size_t> by_size(found.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::sort(by_size,
                    [&](std::size_t a, std::size_t b) { return found[a].size < found[b].size; });
  std::vector<std::int32_t> place(found.size());
  read.needs.clear();
  for (const std::size_t n : by_size) {
    place[n] = static_cast<std::int32_t>(read.needs.size());
    read.needs.push_back(found[n]);
  }
  close_needs(read.needs);
  if (profiled_) read.profiled = peaks_between(*profiled_, read.needs, least_alignment_);
  for (series& trace : read.traces) {
    for (std::int32_t& change : trace) {
      const std::int32_t sorted = place[static_cast<std::size_t>(need_of(change))];
      change = is_birth(change) ? sorted : ~sorted;
    }
  }
  profiled_.reset();
  far_.clear();
  over_aligned_.clear();
  near_.assign(near_count, -1);
  return read;
}

std::string word_of(resolution sizes) { return sizes == resolution::exact ? "exact" : "profile"; }
resolution resolution_of(const std::string& word) {
  for (const resolution sizes : {resolution::exact, resolution::profile})
    if (word == word_of(sizes)) return sizes;
  throw std::out_of_range(word);
}

bool has_profile(const std::vector<std::string>& files) {
  return std::ranges::any_of(
      files, [](const std::string& file) { return kind_of(file) == input_kind::profile; });
}

input_workload read_inputs(const std::vector<std::string>& files, const input_request& request,
                           const progress& tell) {
  workload_builder builder(request.least_alignment, request.sizes);
  input_workload read;
  for (const std::string& file : files) {
    read.inputs.push_back(kind_of(file) == input_kind::profile
                              ? add_profile(file, request, builder)
                              : add_trace(file, request, builder, tell));
  }
  read.load = builder.finish();
  return read;
}

}  // namespace ashlar::tune
