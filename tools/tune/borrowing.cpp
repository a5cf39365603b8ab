// tools/tune/borrowing.cpp. Layer: tune.
#include "tools/tune/borrowing.hpp"

#include <algorithm>

namespace ashlar::tune {

namespace {

// At [c]: the blocks of class c and larger that are alive at one time, at most; and 0 behind.
std::vector<std::uint64_t> peaks_from(const interval_peaks& peaks, const partition& from) {
  std::vector<std::uint64_t> most;
  most.reserve(from.parts.size() + 1);
  for (const interval& part : from.parts)
    most.push_back(peaks.of({part.first, peaks.need_count() - 1}).blocks);
  most.push_back(0);
  return most;
}

// The least sum over the classes of capacity * bytes a block where the capacities from each class on are together at
// least the peak from it on, and each is 1 at least. A larger class's block counts as the cheapest that it could be.
std::uint64_t least_block_bytes(std::span<const std::uint64_t> most_from,
                                std::span<const size_class> classes) {
  std::uint64_t cheapest = UINT64_MAX;
  std::uint64_t behind = 0;  // capacities from the class on
  std::uint64_t bytes = 0;
  for (std::size_t c = classes.size(); c-- > 0;) {
    cheapest = std::min(cheapest, align_up(classes[c].block_size, classes[c].alignment));
    const std::uint64_t from_here = std::max(most_from[c], behind + 1);
    bytes += (from_here - behind) * cheapest;
    behind = from_here;
  }
  return bytes;
}

void set_capacity(size_class& of, std::uint64_t capacity) {
  of.capacity = capacity;
  of.bytes = class_bytes({of.block_size, of.alignment}, capacity);
}

}  // namespace

bool serves_by_borrowing(const workload& load, std::span<const std::uint32_t> class_of,
                         std::span<const size_class> classes) {
  std::vector<std::uint32_t> class_in_slot;
  for (std::size_t t = 0; t < load.traces.size(); ++t) {
    std::vector<std::uint64_t> left;
    for (const size_class& c : classes) left.push_back(c.capacity);
    for (std::size_t e = 0; e < load.traces[t].size(); ++e) {
      const std::int32_t change = load.traces[t][e];
      const std::uint32_t slot = load.slots[t][e];
      if (!is_birth(change)) {
        ++left[class_in_slot[slot]];
        continue;
      }
      const auto need = static_cast<std::size_t>(need_of(change));
      std::size_t c = class_of[need];
      while (c < classes.size() &&
             (left[c] == 0 || classes[c].alignment < load.needs[need].alignment))
        ++c;
      if (c == classes.size()) return false;
      --left[c];
      if (slot >= class_in_slot.size()) class_in_slot.resize(slot + std::size_t{1});
      class_in_slot[slot] = static_cast<std::uint32_t>(c);
    }
  }
  return true;
}

borrowing lowered_by_borrowing(const interval_peaks& peaks, const partition& from,
                               std::uint64_t margin_percent, const progress& tell) {
  const workload& load = peaks.load();
  std::vector<std::uint32_t> class_of(load.needs.size());
  for (std::size_t c = 0; c < from.parts.size(); ++c) {
    for (std::size_t n = from.parts[c].first; n <= from.parts[c].last; ++n)
      class_of[n] = static_cast<std::uint32_t>(c);
  }
  const std::vector<std::uint64_t> most_from = peaks_from(peaks, from);
  borrowing found{from.classes, from.bytes, least_block_bytes(most_from, from.classes)};
  std::vector<size_class> lowered = from.classes;
  for (size_class& c : lowered) set_capacity(c, c.peak);
  std::uint64_t behind = lowered.back().capacity;
  for (std::size_t c = lowered.size() - 1; c-- > 0;) {
    if (tell) {
      tell("lowering capacities",
           1 - static_cast<double>(c + 1) / static_cast<double>(lowered.size()));
    }
    // What the classes from here on have alive at one time must be somewhere from here on.
    std::uint64_t low = most_from[c] > behind ? most_from[c] - behind : 1;
    std::uint64_t high = lowered[c].capacity;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      set_capacity(lowered[c], middle);
      if (serves_by_borrowing(load, class_of, lowered)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    set_capacity(lowered[c], high);
    behind += high;
  }
  for (size_class& c : lowered) set_capacity(c, capacity_for(c.capacity, margin_percent));
  // More blocks can make a set fail that did not before: who comes first takes a block that another would have had. So
  // what a margin made is tried, and where it fails the partition stays, which never borrows.
  if (set_bytes(lowered) < found.bytes && serves_by_borrowing(load, class_of, lowered)) {
    found.classes = std::move(lowered);
    found.bytes = set_bytes(found.classes);
  }
  return found;
}

}  // namespace ashlar::tune
