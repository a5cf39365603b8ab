// tools/tune/live_sizes.cpp. Layer: tune.
#include "tools/tune/live_sizes.hpp"

#include <algorithm>

namespace ashlar::tune {

// A peak is not copied when it is reached, which would be O(sizes) each time: it only gets a number. Whoever changes a
// line first after it keeps what the line was at that peak.
live_size_counter::line& live_size_counter::changing(std::uint64_t time, std::uint64_t size,
                                                     std::uint64_t alignment) {
  if (!begun_) begun_at_ = time;
  begun_ = true;
  now_ = std::max(now_, time);
  line& of = lines_[{size, alignment}];
  if (of.peak != peaks_) {
    of.at_peak = of.live;
    of.peak = peaks_;
  }
  of.block_time += static_cast<double>(of.live) * static_cast<double>(now_ - of.changed_at);
  of.changed_at = now_;
  return of;
}

void live_size_counter::birth(std::uint64_t time, std::uint64_t size, std::uint64_t alignment) {
  line& of = changing(time, size, alignment);
  ++of.live;
  ++of.births;
  live_bytes_ += size;
  if (live_bytes_ > peak_bytes_) {
    peak_bytes_ = live_bytes_;
    ++peaks_;
  }
}

void live_size_counter::death(std::uint64_t time, std::uint64_t size, std::uint64_t alignment) {
  --changing(time, size, alignment).live;
  live_bytes_ -= size;
}

std::vector<live_size> live_size_counter::finish() {
  std::vector<live_size> sizes;
  const double time = std::max(static_cast<double>(now_ - begun_at_), 1.0);
  for (auto& [key, of] : lines_) {
    of.block_time += static_cast<double>(of.live) * static_cast<double>(now_ - of.changed_at);
    sizes.push_back({.size = key.first,
                     .alignment = key.second,
                     .at_peak = static_cast<double>(of.peak == peaks_ ? of.at_peak : of.live),
                     .mean = of.block_time / time,
                     .births = of.births});
  }
  *this = {};
  return sizes;
}

}  // namespace ashlar::tune
