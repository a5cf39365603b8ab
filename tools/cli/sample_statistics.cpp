// tools/cli/sample_statistics.cpp. Layer: cli.
#include "tools/cli/sample_statistics.hpp"

#include <algorithm>

namespace ashlar::cli {

spread spread_of(std::vector<double> samples) {
  spread result;
  result.count = samples.size();
  if (samples.empty()) return result;
  std::sort(samples.begin(), samples.end());
  result.min = samples.front();
  result.max = samples.back();
  const std::size_t upper = samples.size() / 2;
  result.median =
      samples.size() % 2 == 1 ? samples[upper] : (samples[upper - 1] + samples[upper]) / 2;
  return result;
}

double ratio_to(double value, double base) {
  return base > 0 ? value / base : 0;
}

}  // namespace ashlar::cli
