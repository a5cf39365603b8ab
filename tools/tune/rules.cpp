// tools/tune/rules.cpp. Layer: tune.
#include "tools/tune/rules.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "tools/tune/interval_program.hpp"

namespace ashlar::tune {

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

std::vector<size_class> summed_peaks_rule(const interval_peaks& peaks, std::size_t most_classes,
                                          std::uint64_t margin_percent) {
  const std::vector<interval> each = one_part_each(peaks.need_count());
  const std::vector<peak> own = peaks.of(each);
  std::vector<std::int32_t> below{0};
  for (const peak& p : own) below.push_back(below.back() + static_cast<std::int32_t>(p.blocks));
  peak_bounds sums(peaks.need_count());
  sums.raise(below);
  interval_program program(peaks.load().needs, most_classes, margin_percent);
  program.run(sums);
  std::vector<size_class> classes;
  for (const interval& part : program.partition_of(most_classes, sums)) {
    const auto blocks = static_cast<std::uint64_t>(below[part.last + 1] - below[part.first]);
    classes.push_back(class_for(peaks.load().needs, part, blocks, margin_percent));
  }
  return classes;
}

std::vector<size_class> greedy_rule(const interval_peaks& peaks, std::size_t most_classes,
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
    if (parts.size() <= most_classes && costs(cheapest) >= 0) break;
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
