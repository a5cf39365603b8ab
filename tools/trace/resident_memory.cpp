// tools/trace/resident_memory.cpp. Layer: trace.
#include "tools/trace/resident_memory.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace ashlar::trace {
namespace {

constexpr std::uint64_t least_stretch = 64u << 10;
// What the recorder writes is below these. A trace that says more is not to fill the memory here.
constexpr std::uint64_t most_stretches = 1u << 17;  // of a mapping
constexpr std::size_t most_places = 1024;

bool may_have_blocks(memory_kind kind) {
  return kind == memory_kind::heap || kind == memory_kind::anonymous || kind == memory_kind::stack;
}

}  // namespace

bool is_served_by_glibc(const trace_reader& from) {
  // Programs are linked to these, too.
  static constexpr std::array<std::string_view, 6> others{
      "libtcmalloc", "libjemalloc", "libmimalloc", "libsnmalloc", "librpmalloc", "libhoard"};
  const auto is_other = [](const module_definition& module) {
    const std::string_view path = module.path;
    return std::ranges::any_of(others, [&](std::string_view name) {
      return path.substr(path.rfind('/') + 1).starts_with(name);
    });
  };
  return from.header().get(header_name::options).find("on=") == std::string_view::npos &&
         std::ranges::none_of(from.modules(), is_other);
}

std::uint64_t most_in_memory(const trace_reader& from) {
  std::uint64_t peak = 0, most = 0, recorders = 0;
  for (const memory_look& look : from.looks()) {
    peak = std::max({peak, look.peak, look.resident});
    if (look.mappings.empty() || look.resident < most) continue;
    most = look.resident;
    recorders = 0;
    for (const mapped_memory& each : look.mappings)
      if (each.kind == memory_kind::recorder) recorders += each.resident;
  }
  return peak - std::min(peak, recorders);
}

resident_counter::resident_counter(const trace_reader& from)
    : from_(from), is_glibc_(is_served_by_glibc(from)) {
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
  for (const memory_look& look : from.looks())
    if (look.time < look_time_ && look.resident < look_->resident - look_->resident / 64)
      less_time_ = std::max(less_time_, look.time);
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
  std::ranges::sort(places_, {}, &place::begin);
}

resident_counter::place* resident_counter::place_of(std::uint64_t address) {
  const auto behind = std::ranges::upper_bound(places_, address, {}, &place::begin);
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

void resident_counter::forget(std::uint64_t time) {
  image_time_ = time;
  note(time);
  for (place& p : places_) {
    std::fill(p.has_blocks.begin(), p.has_blocks.end(), false);
    p.covered = 0;
  }
}

/// Returns: what the program had mapped by itself when the look was taken, by address.
/// None overlap.
std::map<std::uint64_t, own_mapping> resident_counter::mapped_then() const {
  std::multimap<std::uint64_t, own_mapping> all;  // by time; equal ones stay in order
  for (const own_mapping& each : from_.mappings()) all.emplace(each.time, each);
  std::map<std::uint64_t, own_mapping> now;
  for (const auto& [time, each] : all) {
    if (time <= image_time_ || time > look_time_) continue;
    if (each.bytes == 0) {
      now.erase(each.begin);
      continue;
    }
    const std::uint64_t end = each.begin + each.bytes;
    // What lay there before keeps what is on both sides.
    auto at = now.upper_bound(each.begin);
    if (at != now.begin()) --at;
    while (at != now.end() && at->first < end) {
      const own_mapping before = at->second;
      const std::uint64_t before_end = before.begin + before.bytes;
      if (before_end <= each.begin) {
        ++at;
        continue;
      }
      at = now.erase(at);
      if (before.begin < each.begin)
        now[before.begin] = {before.time, before.begin, each.begin - before.begin, before.stack};
      if (before_end > end) now[end] = {before.time, end, before_end - end, before.stack};
    }
    if (each.stack != 0) now[each.begin] = each;
  }
  return now;
}

resident_memory resident_counter::finish() {
  if (look_ == nullptr) return found_;
  if (found_.live == live_) found_.time = look_->time;
  const std::map<std::uint64_t, own_mapping> own = mapped_then();
  std::map<std::tuple<memory_kind, std::string, std::uint32_t>, std::uint64_t> parts;
  // What is not malloc's of a mapping, by the stacks that mapped parts of it. Where not all of
  // these parts is in memory, each has its share.
  const auto divide = [&](const mapped_memory& of, std::uint64_t bytes) {
    // What has blocks is no thread's stack, though it lies behind pages without access.
    const memory_kind kind =
        of.kind == memory_kind::stack && bytes != of.resident ? memory_kind::anonymous : of.kind;
    std::uint64_t mapped = 0;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> shares;
    auto at = own.upper_bound(of.begin);
    if (at != own.begin()) --at;
    for (; at != own.end() && at->first < of.end; ++at) {
      const std::uint64_t begin = std::max(at->first, of.begin);
      const std::uint64_t end = std::min(at->first + at->second.bytes, of.end);
      if (end <= begin) continue;
      shares.emplace_back(end - begin, at->second.stack);
      mapped += end - begin;
    }
    std::uint64_t rest = bytes;
    for (const auto& [size, stack] : shares) {
      const double share = static_cast<double>(size) / static_cast<double>(mapped);
      // A trace may say figures that no process has.
      const double most = std::min(share * static_cast<double>(bytes) + 0.5, 0x1p63);
      const std::uint64_t part = std::min({rest, size, static_cast<std::uint64_t>(most)});
      parts[{kind, of.name, stack}] += part;
      rest -= part;
    }
    parts[{kind, of.name, 0}] += rest;
  };
  for (const mapped_memory& each : look_->mappings) {
    const auto at = std::ranges::find(places_, &each, &place::of);
    std::uint64_t of_malloc = 0;
    if (each.kind == memory_kind::heap) {
      of_malloc = each.resident;
    } else if (at != places_.end()) {
      of_malloc = std::min(each.resident, at->covered * at->stretch);
      // An allocator's own data lies between its blocks.
      if (of_malloc >= each.resident / 8 * 7) of_malloc = each.resident;
    }
    found_.malloc += of_malloc;
    if (each.end != 0)
      divide(each, each.resident - of_malloc);
    else
      parts[{each.kind, each.name, 0}] += each.resident - of_malloc;
  }
  found_.resident = found_.malloc;
  for (const auto& [of, bytes] : parts) {
    found_.resident += bytes;
    if (bytes != 0)
      found_.parts.push_back({std::get<0>(of), std::get<1>(of), bytes, std::get<2>(of)});
  }
  found_.peak = std::max(found_.peak, found_.resident);
  std::ranges::sort(found_.parts, [](const resident_part& a, const resident_part& b) {
    return std::tie(b.bytes, a.name, a.kind, a.stack) < std::tie(a.bytes, b.name, b.kind, b.stack);
  });
  return found_;
}

}  // namespace ashlar::trace
