// tools/measure/rounds.hpp: what is quoted of repeated measurements. Layer: measure.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace ashlar::measure {

struct spread {
  double median = 0;  // of an even number of samples: the mean of the middle two
  double min = 0;
  double max = 0;
  std::size_t count = 0;
};

// Returns: all zero for no samples. Complexity: O(n log n).
spread spread_of(std::vector<double> samples);

// Returns: value / base, or 0 where base is 0 (a clock too coarse for what ran).
template <class Value, class Base>
double ratio_to(Value value, Base base) {
  return base > 0 ? static_cast<double>(value) / static_cast<double>(base) : 0;
}

// The order of one round: 0 .. count-1 shuffled. The same generator state gives the same order with
// every standard library.
std::vector<std::size_t> shuffled_order(std::size_t count, std::mt19937_64& generator);

}  // namespace ashlar::measure
