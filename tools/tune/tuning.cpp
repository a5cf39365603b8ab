// tools/tune/tuning.cpp. Layer: tune.
#include "tools/tune/tuning.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include <fmt/format.h>

#include "tools/tune/interval_program.hpp"

namespace ashlar::tune {

namespace {

void require_possible(const workload& load, const tuning_request& request) {
  if (load.needs.empty()) throw impossible("no request is left to choose pools for");
  if (load.needs.size() > most_needs) {
    throw impossible(
        fmt::format("{} different block sizes, and at most {} can be weighed against each other: "
                    "--align with a larger alignment makes them fewer, and so does --largest",
                    load.needs.size(), most_needs));
  }
  if (request.borrow && load.profiled) {
    throw impossible(
        "--borrow looks at the order of births and deaths, and a profile has none: give the "
        "traces, or leave --borrow out");
  }
  if (request.classes && (*request.classes == 0 || *request.classes > most_classes)) {
    throw impossible(
        fmt::format("--classes {}: from 1 to {} are possible", *request.classes, most_classes));
  }
}

std::vector<std::uint64_t> bytes_of_each(const partition_search& found) {
  std::vector<std::uint64_t> curve;
  curve.reserve(found.best.size());
  for (const partition& best : found.best) curve.push_back(best.bytes);
  return curve;
}

// The smallest number of classes within the budget, or the knee where that is.
std::size_t pick_from(const std::vector<std::uint64_t>& curve, std::uint64_t other_rule,
                      const std::optional<std::uint64_t>& budget_bytes) {
  std::size_t picked = knee_of(curve, other_rule);
  while (budget_bytes && picked < curve.size() && curve[picked - 1] > *budget_bytes) ++picked;
  return picked;
}

}  // namespace

std::size_t knee_of(const std::vector<std::uint64_t>& curve, std::uint64_t other_rule) {
  const std::uint64_t least = curve.back();
  const std::uint64_t enough = std::min(least + least / 100 * knee_percent, other_rule);
  const auto knee =
      std::ranges::find_if(curve, [&](std::uint64_t bytes) { return bytes <= enough; });
  if (knee != curve.end()) return static_cast<std::size_t>(knee - curve.begin()) + 1;
  return static_cast<std::size_t>(std::ranges::find(curve, least) - curve.begin()) + 1;
}

tuning tune_static(const workload& load, const tuning_request& request, const progress& tell) {
  require_possible(load, request);
  if (tell) tell("looking at the inputs", 0);
  const interval_peaks peaks(load);
  const bool looks_for_knee = !request.classes.has_value();
  partition_search found =
      cheapest_partitions(peaks, request.classes.value_or(curve_classes),
                          looks_for_knee ? search_for::each_number : search_for::largest_only,
                          request.margin_percent, tell);
  tuning made;
  std::size_t picked = found.best.size();
  if (looks_for_knee) {
    made.curve = bytes_of_each(found);
    const std::uint64_t powers = set_bytes(power_of_two_rule(peaks, request.margin_percent));
    picked = pick_from(made.curve, powers, request.budget_bytes);
  }
  made.asked_classes = picked;
  made.witness = std::move(found.witness);
  std::ranges::sort(made.witness);
  partition& best = found.best[picked - 1];
  made.bytes = best.bytes;
  if (request.borrow) {
    borrowing lowered = lowered_by_borrowing(peaks, best, request.margin_percent, tell);
    made.classes = std::move(lowered.classes);
    made.bytes = lowered.bytes;
    made.least_block_bytes = lowered.least_block_bytes;
  } else {
    made.classes = std::move(best.classes);
  }
  if (made.bytes >= too_many_bytes)
    throw impossible("the classes would have more than 4 PiB: --largest leaves large requests out");
  if (request.budget_bytes && made.bytes > *request.budget_bytes) {
    throw impossible(
        fmt::format("--budget {}: the least possible with at most {} class{} is {} bytes ({} more)",
                    *request.budget_bytes, request.classes.value_or(curve_classes),
                    request.classes.value_or(curve_classes) == 1 ? "" : "es", made.bytes,
                    made.bytes - *request.budget_bytes));
  }
  return made;
}

// ---- other ways of choosing ------------------------------------------------------------------------

namespace {

std::vector<size_class> classes_of(const interval_peaks& peaks, std::span<const interval> parts,
                                   std::uint64_t margin_percent) {
  const std::vector<peak> found = peaks.of(parts);
  std::vector<size_class> classes;
  classes.reserve(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p)
    classes.push_back(class_for(peaks.load().needs, parts[p], found[p].blocks, margin_percent));
  return classes;
}

std::vector<interval> one_part_each(std::size_t needs) {
  std::vector<interval> parts(needs);
  for (std::size_t n = 0; n < needs; ++n) parts[n] = {n, n};
  return parts;
}

}  // namespace

std::vector<size_class> power_of_two_rule(const interval_peaks& peaks,
                                          std::uint64_t margin_percent) {
  const std::span<const block_need> needs = peaks.load().needs;
  std::vector<interval> parts;
  for (std::size_t n = 0; n < needs.size(); ++n) {
    if (n == 0 || std::bit_ceil(needs[n].size) != std::bit_ceil(needs[n - 1].size))
      parts.push_back({n, n});
    parts.back().last = n;
  }
  std::vector<size_class> classes = classes_of(peaks, parts, margin_percent);
  for (size_class& c : classes) {
    c.block_size = std::bit_ceil(c.block_size);
    c.bytes = class_bytes({c.block_size, c.alignment}, c.capacity);
  }
  return classes;
}

std::vector<size_class> summed_peaks_rule(const interval_peaks& peaks, std::size_t most,
                                          std::uint64_t margin_percent) {
  const std::vector<interval> each = one_part_each(peaks.need_count());
  const std::vector<peak> own = peaks.of(each);
  std::vector<std::int32_t> below{0};
  for (const peak& p : own) below.push_back(below.back() + static_cast<std::int32_t>(p.blocks));
  peak_bounds sums(peaks.need_count());
  sums.raise(below);
  interval_program program(peaks.load().needs, most, margin_percent);
  program.run(sums);
  std::vector<size_class> classes;
  for (const interval& part : program.partition_of(most, sums)) {
    const auto blocks = static_cast<std::uint64_t>(below[part.last + 1] - below[part.first]);
    classes.push_back(class_for(peaks.load().needs, part, blocks, margin_percent));
  }
  return classes;
}

std::vector<size_class> greedy_rule(const interval_peaks& peaks, std::size_t most,
                                    std::uint64_t margin_percent) {
  std::vector<interval> parts = one_part_each(peaks.need_count());
  std::vector<size_class> classes = classes_of(peaks, parts, margin_percent);
  const auto united = [&](std::size_t p) {
    const interval both{parts[p].first, parts[p + 1].last};
    return class_for(peaks.load().needs, both, peaks.of(both).blocks, margin_percent);
  };
  std::vector<size_class> unions;  // at [p]: of parts p and p + 1
  for (std::size_t p = 0; p + 1 < parts.size(); ++p) unions.push_back(united(p));
  while (!unions.empty()) {
    const auto costs = [&](std::size_t p) {
      return static_cast<std::int64_t>(unions[p].bytes) -
             static_cast<std::int64_t>(classes[p].bytes + classes[p + 1].bytes);
    };
    std::size_t cheapest = 0;
    for (std::size_t p = 1; p < unions.size(); ++p) {
      if (costs(p) < costs(cheapest)) cheapest = p;
    }
    if (parts.size() <= most && costs(cheapest) >= 0) break;
    const auto at = static_cast<std::ptrdiff_t>(cheapest);
    classes[cheapest] = unions[cheapest];
    parts[cheapest].last = parts[cheapest + 1].last;
    classes.erase(classes.begin() + at + 1);
    parts.erase(parts.begin() + at + 1);
    unions.erase(unions.begin() + at);
    if (cheapest > 0) unions[cheapest - 1] = united(cheapest - 1);
    if (cheapest < unions.size()) unions[cheapest] = united(cheapest);
  }
  return classes;
}

}  // namespace ashlar::tune
