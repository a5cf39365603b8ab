// tools/tune/tuning.cpp. Layer: tune.
#include "tools/tune/tuning.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include <fmt/format.h>

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
    made.powers_of_two = set_bytes(power_of_two_rule(peaks, request.margin_percent));
    picked = pick_from(made.curve, made.powers_of_two, request.budget_bytes);
  }
  made.asked_classes = picked;
  made.witness = std::move(found.witness);
  std::ranges::sort(made.witness);
  partition& best = found.best[picked - 1];
  made.bytes = best.bytes;
  made.classes = std::move(best.classes);
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

std::vector<size_class> power_of_two_rule(const interval_peaks& peaks,
                                          std::uint64_t margin_percent) {
  const std::span<const block_need> needs = peaks.load().needs;
  std::vector<interval> parts;
  for (std::size_t n = 0; n < needs.size(); ++n) {
    if (n == 0 || std::bit_ceil(needs[n].size) != std::bit_ceil(needs[n - 1].size))
      parts.push_back({n, n});
    parts.back().last = n;
  }
  const std::vector<peak> found = peaks.of(parts);
  std::vector<size_class> classes;
  classes.reserve(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    size_class c = class_for(needs, parts[p], found[p].blocks, margin_percent);
    c.block_size = std::bit_ceil(c.block_size);
    c.bytes = class_bytes({c.block_size, c.alignment}, c.capacity);
    classes.push_back(c);
  }
  return classes;
}

}  // namespace ashlar::tune
