// tools/trace/resident_memory.cpp. Layer: trace.
#include "tools/trace/resident_memory.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ashlar::trace {
namespace {

constexpr std::uint64_t least_stretch = 64u << 10;
// What the recorder writes is below these. A trace that says more is not to fill the memory here.
constexpr std::uint64_t most_stretches = 1u << 17;  // of a mapping
constexpr std::size_t most_places = 256;

bool may_have_blocks(memory_kind kind) {
  return kind == memory_kind::heap || kind == memory_kind::anonymous;
}

}  // namespace

resident_counter::resident_counter(const trace_reader& from) {
  std::uint64_t most = 0;
  for (const memory_look& look : from.looks()) {
    found_.peak = std::max({found_.peak, look.peak, look.resident});
    if (!look.mappings.empty()) most = std::max(most, look.resident);
  }
  // Of those that saw nearly as much, the first is of the time when it was needed.
  for (const memory_look& look : from.looks())
    if (!look.mappings.empty() && look.resident >= most - most / 64 &&
        (look_ == nullptr || look.time < look_->time))
      look_ = &look;
  if (look_ == nullptr) return;
  look_time_ = look_->time;
  is_over_ = false;
  for (const mapped_memory& each : look_->mappings) {
    const std::uint64_t bytes = each.end - each.begin;
    if (!may_have_blocks(each.kind) || bytes == 0 || places_.size() == most_places) continue;
    place& added = places_.emplace_back();
    added.begin = each.begin;
    added.end = each.end;
    added.stretch = std::max(least_stretch, bytes / most_stretches + 1);
    added.has_blocks.resize(static_cast<std::size_t>((bytes - 1) / added.stretch + 1));
    added.of = &each;
  }
  std::sort(places_.begin(), places_.end(),
            [](const place& a, const place& b) { return a.begin < b.begin; });
}

resident_counter::place* resident_counter::place_of(std::uint64_t address) {
  const auto behind =
      std::upper_bound(places_.begin(), places_.end(), address,
                       [](std::uint64_t at, const place& p) { return at < p.begin; });
  if (behind == places_.begin()) return nullptr;
  place& found = *std::prev(behind);
  return address < found.end ? &found : nullptr;
}

void resident_counter::cover_all(place& p, std::uint64_t address, std::uint64_t size) {
  const std::uint64_t last = std::min(size == 0 ? 0 : size - 1, p.end - 1 - address);
  for (std::uint64_t i = (address - p.begin) / p.stretch;
       i <= (address - p.begin + last) / p.stretch; ++i) {
    const auto at = static_cast<std::size_t>(i);
    p.covered += p.has_blocks[at] ? 0 : 1;
    p.has_blocks[at] = true;
  }
}

void resident_counter::forget() {
  for (place& p : places_) {
    std::fill(p.has_blocks.begin(), p.has_blocks.end(), false);
    p.covered = 0;
  }
}

resident_memory resident_counter::finish() {
  if (look_ == nullptr) return found_;
  found_.time = look_->time;
  found_.live = live_;
  std::map<std::pair<memory_kind, std::string>, std::uint64_t> parts;
  for (const mapped_memory& each : look_->mappings) {
    const auto at =
        std::find_if(places_.begin(), places_.end(), [&](const place& p) { return p.of == &each; });
    std::uint64_t of_malloc = 0;
    if (each.kind == memory_kind::heap) {
      of_malloc = each.resident;
    } else if (at != places_.end()) {
      of_malloc = std::min(each.resident, at->covered * at->stretch);
      // An allocator's own data lies between its blocks.
      if (of_malloc >= each.resident / 8 * 7) of_malloc = each.resident;
    }
    found_.malloc += of_malloc;
    parts[{each.kind, each.name}] += each.resident - of_malloc;
  }
  found_.resident = found_.malloc;
  for (const auto& [of, bytes] : parts) {
    found_.resident += bytes;
    if (bytes != 0) found_.parts.push_back({of.first, of.second, bytes});
  }
  found_.peak = std::max(found_.peak, found_.resident);
  std::sort(found_.parts.begin(), found_.parts.end(),
            [](const resident_part& a, const resident_part& b) {
              return std::tie(b.bytes, a.name, a.kind) < std::tie(a.bytes, b.name, b.kind);
            });
  return found_;
}

}  // namespace ashlar::trace
