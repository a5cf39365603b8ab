// tools/sites/trend.cpp. Layer: sites.
#include "tools/sites/trend.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace ashlar::sites {
namespace {

double rise(std::uint64_t from, std::uint64_t to) {
  return to >= from ? static_cast<double>(to - from) : -static_cast<double>(from - to);
}

// t (t - 1) (2t + 5)
double variance_part(double t) {
  return t * (t - 1) * (2 * t + 5);
}

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

double normal_distribution(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

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

}  // namespace ashlar::sites
