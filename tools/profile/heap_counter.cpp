// tools/profile/heap_counter.cpp. Layer: profile.
#include "tools/profile/heap_counter.hpp"

#include <algorithm>
#include <bit>

namespace ashlar::profiling {
namespace {

constexpr std::uint64_t mean_unit = 1024;

}  // namespace

// A peak is not copied when it is reached, which would be O(sizes) each time: it only gets a number. Whoever changes a
// line first after it keeps what the line was at that peak.
heap_counter::line& heap_counter::changing(std::uint64_t time, std::uint64_t size,
                                           std::uint64_t alignment) {
  if (!begun_) begun_at_ = now_ = time;
  begun_ = true;
  now_ = std::max(now_, time);
  const std::uint64_t told = heap_grid::alignment_of(alignment);
  std::vector<line>& lines =
      lines_[told == 0 ? 0 : static_cast<std::size_t>(std::countr_zero(told))];
  if (lines.empty()) lines.resize(heap_grid::count);
  line& of = lines[heap_grid::step_of(size)];
  if (of.peak != peaks_) {
    of.at_peak = of.now;
    of.peak = peaks_;
  }
  const wide since = now_ - of.changed_at;
  of.block_time += of.now.blocks * since;
  of.byte_time += of.now.bytes * since;
  of.changed_at = now_;
  return of;
}

void heap_counter::birth(std::uint64_t time, std::uint64_t size, std::uint64_t alignment) {
  line& of = changing(time, size, alignment);
  ++of.births;
  ++of.now.blocks;
  of.now.bytes += size;
  live_bytes_ += size;
  if (live_bytes_ > peak_bytes_) {
    peak_bytes_ = live_bytes_;
    ++peaks_;
  }
}

void heap_counter::death(std::uint64_t time, std::uint64_t size, std::uint64_t alignment) {
  line& of = changing(time, size, alignment);
  --of.now.blocks;
  of.now.bytes -= size;
  live_bytes_ -= size;
}

std::vector<heap_row> heap_counter::rows() const {
  std::vector<heap_row> all;
  const wide time = std::max<std::uint64_t>(duration(), 1);
  for (std::uint32_t step = 0; step < heap_grid::count; ++step) {
    for (std::size_t a = 0; a < lines_.size(); ++a) {
      if (lines_[a].empty() || lines_[a][step].births == 0) continue;
      const line& of = lines_[a][step];
      const wide since = now_ - of.changed_at;
      const wide blocks = (of.block_time + of.now.blocks * since) * mean_unit;
      const wide bytes = (of.byte_time + of.now.bytes * since) * mean_unit;
      all.push_back({.step = step,
                     .alignment = a == 0 ? 0 : std::uint64_t{1} << a,
                     .births = of.births,
                     .at_peak = of.peak == peaks_ ? of.at_peak : of.now,
                     .mean_1024 = {.blocks = at_most_64_bits((blocks + time - 1) / time),
                                   .bytes = at_most_64_bits(bytes / time)}});
    }
  }
  return all;
}

}  // namespace ashlar::profiling
