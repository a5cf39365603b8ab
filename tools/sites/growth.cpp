// tools/sites/growth.cpp. Layer: sites.
#include "tools/sites/growth.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "tools/sites/stack_keys.hpp"

namespace ashlar::sites {

namespace {

double rise(std::uint64_t from, std::uint64_t to) {
  return to >= from ? static_cast<double>(to - from) : -static_cast<double>(from - to);
}

// t (t - 1) (2t + 5)
double variance_part(double t) { return t * (t - 1) * (2 * t + 5); }

double variance(std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  double sum = variance_part(static_cast<double>(values.size()));
  for (auto at = sorted.begin(); at != sorted.end();) {
    const auto behind = std::upper_bound(at, sorted.end(), *at);
    sum -= variance_part(static_cast<double>(behind - at));
    at = behind;
  }
  return sum / 18;
}

double normal_distribution(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

trend test_of(std::span<const std::uint64_t> values) {
  if (values.size() < 2) return {};
  std::int64_t s = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j)
      s += (values[j] > values[i] ? 1 : 0) - (values[j] < values[i] ? 1 : 0);
  const auto n = static_cast<double>(values.size());
  trend found;
  found.tau = static_cast<double>(s) / (n * (n - 1) / 2);
  if (s > 0)
    found.confidence =
        normal_distribution((static_cast<double>(s) - 1) / std::sqrt(variance(values)));
  return found;
}

trend trend_of(std::span<const std::uint64_t> values) {
  trend found = test_of(values);
  if (values.size() < 2) return found;
  std::vector<double> slopes;
  slopes.reserve(values.size() * (values.size() - 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j)
      slopes.push_back(rise(values[i], values[j]) / static_cast<double>(j - i));
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  found.slope = *middle;
  if (slopes.size() % 2 == 0)
    found.slope = (found.slope + *std::max_element(slopes.begin(), middle)) / 2;
  return found;
}

namespace {

constexpr double least_seconds = 1;
constexpr double least_tau = 0.8;
constexpr double least_confidence = 0.99;
constexpr std::size_t part_of_the_end = 5;  // a fifth of the run, at most, is its end
constexpr std::uint64_t part_of_the_births = 100;

struct site {
  std::vector<std::uint64_t> least;
  const trace::stack_definition* stack = nullptr;  // any of them: their calls read the same
  std::uint64_t births = 0, grown = 0, bytes = 0, bytes_at_end = 0, bytes_lost = 0;
};

}  // namespace

std::optional<growth> growth_of(std::span<const std::uint64_t> least) {
  if (least.empty() || least.back() <= least.front()) return {};
  const trend last_third = test_of(least.last(least.size() / 3));
  if (last_third.confidence < least_confidence) return {};
  const trend whole = trend_of(least);
  if (whole.tau < least_tau || whole.confidence < least_confidence) return {};
  return growth{whole.slope, whole.tau, std::min(whole.confidence, last_third.confidence)};
}

std::size_t stretches_of_work(const trace::held_over_time& held) {
  constexpr std::size_t all = trace::held_over_time::stretches;
  const std::uint64_t births =
      std::accumulate(held.births.begin(), held.births.end(), std::uint64_t{0});
  std::uint64_t left_out = 0;
  std::size_t count = all;
  while (count > all - all / part_of_the_end) {
    left_out += held.births[count - 1];
    if (left_out >= births / part_of_the_births + 1) break;
    --count;
  }
  return count - 1;
}

growing_sites find_growth(const trace::trace_reader& reader, const trace::held_over_time& held,
                          trace::call_names& names) {
  const std::size_t count = stretches_of_work(held);
  const double stretch_seconds =
      static_cast<double>(held.stretch_ticks) / static_cast<double>(reader.ticks_per_second());
  growing_sites found{stretch_seconds * static_cast<double>(count), {}, false};
  if (stretch_seconds * trace::held_over_time::stretches < least_seconds) return found;
  const std::optional<trace::exit_look>& look = reader.look_at_exit();
  found.was_searched = look && look->failure.empty();
  std::unordered_map<std::uint32_t, std::uint64_t> lost;  // by stack
  if (found.was_searched)
    for (const trace::lost_blocks& each : look->lost)
      lost[each.stack] = each.bytes;  // the last of a stack, as in summaries
  name_numbers numbers;
  stack_keys keys(names, numbers, [](const trace::named_call& call) { return call.text(); });
  std::unordered_map<stack_key, site> merged;
  for (const trace::stack_definition& stack : reader.stacks()) {
    const auto course = held.by_stack.find(stack.number);
    if (course == held.by_stack.end()) continue;
    const std::vector<std::uint64_t> least = course->second.least(count);
    if (std::ranges::all_of(least, [](std::uint64_t bytes) { return bytes == 0; }))
      continue;  // most stacks: they need no names
    site& into = merged[keys.of(stack)];
    into.stack = &stack;
    into.births += course->second.births;
    into.grown += course->second.grown;
    into.bytes += course->second.allocated;
    into.bytes_at_end += course->second.held();
    into.bytes_lost += lost[stack.number];
    into.least.resize(count);
    for (std::size_t i = 0; i < count; ++i) into.least[i] += least[i];
  }
  for (const auto& [key, of] : merged) {
    const std::optional<growth> how = growth_of(of.least);
    if (!how) continue;
    found.sites.push_back({*how, how->bytes_per_stretch / stretch_seconds, of.births, of.grown,
                           of.bytes, of.bytes_at_end, of.bytes_lost,
                           how->bytes_per_stretch * static_cast<double>(count), of.stack->number,
                           names.of(*of.stack)});
  }
  std::ranges::sort(found.sites, [](const growing_site& a, const growing_site& b) {
    return std::pair(b.bytes, a.stack) < std::pair(a.bytes, b.stack);
  });
  return found;
}

}  // namespace ashlar::sites
