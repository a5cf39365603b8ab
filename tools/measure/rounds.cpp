// tools/measure/rounds.cpp. Layer: measure.
#include "tools/measure/rounds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ashlar::measure {

spread spread_of(std::vector<double> samples) {
  spread result;
  result.count = samples.size();
  if (samples.empty()) return result;
  std::ranges::sort(samples);
  result.min = samples.front();
  result.max = samples.back();
  const std::size_t upper = samples.size() / 2;
  result.median =
      samples.size() % 2 == 1 ? samples[upper] : (samples[upper - 1] + samples[upper]) / 2;
  return result;
}

std::vector<std::size_t> shuffled_order(std::size_t count, std::mt19937_64& generator) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = count; left > 1; --left) {
    // The remainder's bias is below 2^-60 for the few allocators that there are.
    std::swap(order[left - 1], order[static_cast<std::size_t>(generator() % left)]);
  }
  return order;
}

}  // namespace ashlar::measure
