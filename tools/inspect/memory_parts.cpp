// tools/inspect/memory_parts.cpp. Layer: inspect.
#include "tools/inspect/memory_parts.hpp"

#include <algorithm>

namespace ashlar::inspect {
namespace {

using ranges = std::vector<trace::address_range>;

/// Returns: the same addresses in stretches that are sorted and apart.
ranges joined(ranges all) {
  std::ranges::sort(all, [](const auto& a, const auto& b) { return a.begin < b.begin; });
  ranges apart;
  for (const trace::address_range& each : all) {
    if (each.begin >= each.end) continue;
    if (!apart.empty() && each.begin <= apart.back().end)
      apart.back().end = std::max(apart.back().end, each.end);
    else
      apart.push_back(each);
  }
  return apart;
}

/// Returns: how many bytes of these stretches are in others. Requires: both are sorted and apart.
std::uint64_t bytes_in(const ranges& some, const ranges& others) {
  std::uint64_t bytes = 0;
  auto other = others.begin();
  for (const trace::address_range& each : some) {
    while (other != others.end() && other->end <= each.begin) ++other;
    for (auto next = other; next != others.end() && next->begin < each.end; ++next)
      bytes += std::min(each.end, next->end) - std::max(each.begin, next->begin);
  }
  return bytes;
}

constexpr std::uint64_t page_bytes = 4096;  // as findings count them

/// How much of some stretches was kept. They are asked for in the order of addresses.
class kept_bytes {
 public:
  explicit kept_bytes(const image::memory_image& image) : kept_(image.kept()) {}
  std::uint64_t in(std::uint64_t begin, std::uint64_t end) {
    while (at_ != kept_.end() && at_->end <= begin) ++at_;
    std::uint64_t bytes = 0;
    for (auto next = at_; next != kept_.end() && next->begin < end; ++next)
      bytes += std::min(end, next->end) - std::max(begin, next->begin);
    return bytes;
  }

 private:
  ranges kept_;
  ranges::const_iterator at_ = kept_.begin();
};

/// Sorts the pages of runs, which come in the order of addresses.
class page_counter {
 public:
  page_counter(const image::memory_image& image, const heap_contents& heaps, page_map& to)
      : heaps_(heaps), live_(heaps.live), kept_(image), to_(to) {}

  void add(const page_run& run) {
    while (block_ < live_.size() && live_[block_].address < run.begin) ++block_;
    if (run.block_size != 0) return add_slab(run, to_.by_size[run.block_size]);
    const bool is_in_use = block_ < live_.size() && live_[block_].address < run.end;
    page_uses& uses = run.is_large ? to_.by_size[0] : to_.no_block;
    const std::uint64_t there = kept_.in(run.begin, run.end);
    (is_in_use ? uses.full : uses.free) += there;
    // A guarded block's slot is mostly addresses that are closed.
    if (heaps_.heaps[run.heap].address != 0)
      (is_in_use ? uses.untouched : uses.purged) += run.end - run.begin - there;
  }

 private:
  void add_slab(const page_run& run, page_uses& to) {
    const std::uint64_t end_of_blocks = run.begin + std::uint64_t{run.blocks} * run.block_size;
    for (std::uint64_t page = run.begin; page < run.end; page += page_bytes) {
      const std::uint64_t end = page + page_bytes;
      // What checks tell of a block may begin within it: so its place is asked for.
      const auto bytes_of = [&](std::size_t block) -> std::uint64_t {
        const auto offset = static_cast<std::uint32_t>(live_[block].address - run.begin);
        const std::uint64_t begin = run.begin + (offset - offset % run.block_size);
        const std::uint64_t behind = begin + run.block_size;
        return behind <= page || begin >= end ? 0 : std::min(end, behind) - std::max(page, begin);
      };
      while (block_ < live_.size() && live_[block_].address < page && bytes_of(block_) == 0)
        ++block_;
      std::uint64_t used = 0;
      std::size_t behind = block_;
      for (; behind < live_.size() && live_[behind].address < run.end; ++behind) {
        const std::uint64_t bytes = bytes_of(behind);
        if (bytes == 0) break;
        used += bytes;
      }
      if (kept_.in(page, end) == 0) {
        (used == 0 ? to.purged : to.untouched) += page_bytes;
      } else if (used == 0) {
        to.free += page_bytes;
      } else if (used * 4 < page_bytes) {
        to.hollow += page_bytes;
        std::uint64_t rest = page_bytes - used;
        for (; block_ < behind; ++block_) {
          const std::uint64_t bytes = rest * bytes_of(block_) / used;
          rest -= bytes;
          used -= bytes_of(block_);
          if (to_.pinned.empty() || to_.pinned.back().block != block_)
            to_.pinned.push_back({block_, 0});
          to_.pinned.back().bytes += bytes;
        }
        block_ = behind - 1;  // it may go on in the next page
      } else {
        (used == std::min(end, end_of_blocks) - page ? to.full : to.partly) += page_bytes;
      }
    }
  }

  const heap_contents& heaps_;
  const std::vector<trace::held_block>& live_;
  kept_bytes kept_;
  page_map& to_;
  std::size_t block_ = 0;  // in live_: none before it is in the pages to come
};

/// What takes memory, in the order of calls: what one part has, no later one gets.
class division {
 public:
  explicit division(const image::memory_image& image) : kept_(image.kept()) {}
  void add(const char* key, const char* what, const ranges& has) {
    taken_.insert(taken_.end(), has.begin(), has.end());
    taken_ = joined(std::move(taken_));
    const std::uint64_t bytes = bytes_in(taken_, kept_);
    parts_.push_back({key, what, bytes - before_});
    before_ = bytes;
  }
  std::vector<memory_part> parts() && { return std::move(parts_); }

 private:
  ranges kept_;
  ranges taken_;
  std::uint64_t before_ = 0;
  std::vector<memory_part> parts_;
};

}  // namespace

std::vector<memory_part> memory_parts(const image::memory_image& image,
                                      const heap_contents& heaps) {
  ranges blocks;
  for (const trace::held_block& each : heaps.live)
    blocks.push_back({each.address, each.address + each.size});
  ranges used_runs;
  ranges free_runs = heaps.unused;
  for (const page_run& run : heaps.runs)
    (run.block_size != 0 || run.is_large ? used_runs : free_runs).push_back({run.begin, run.end});
  ranges stacks;
  for (const image::thread_state& thread : image.threads())
    if (const image::mapping* const m = image.mapping_of(thread.stack_pointer); m != nullptr)
      stacks.push_back({m->begin, m->end});
  ranges files;
  for (const image::mapping& m : image.mappings())
    if (!m.path.empty()) files.push_back({m.begin, m.end});
  division all(image);
  all.add("in_use", "blocks in use", blocks);
  all.add("free_blocks", "free blocks, and what is beside blocks", used_runs);
  all.add("free_pages", "free pages of the heap", free_runs);
  all.add("heap_tables", "the heap's caches and tables", heaps.own);
  all.add("stacks", "stacks of threads", stacks);
  all.add("files", "pages of files: their data, changed or kept", files);
  all.add("other", "other mappings", {{0, UINT64_MAX}});
  return std::move(all).parts();
}

page_uses& page_uses::operator+=(const page_uses& more) {
  full += more.full;
  partly += more.partly;
  hollow += more.hollow;
  free += more.free;
  purged += more.purged;
  untouched += more.untouched;
  return *this;
}

page_uses page_map::sum() const {
  page_uses all = no_block;
  for (const auto& [size, uses] : by_size) all += uses;
  return all;
}

std::int64_t page_map::only_read() const {
  return static_cast<std::int64_t>(in_memory() + other + closed - resident - swapped);
}

page_map map_pages(const image::memory_image& image, const heap_contents& heaps) {
  page_map map;
  page_counter pages(image, heaps, map);
  ranges blocks = heaps.unused;
  for (const page_run& run : heaps.runs) {
    pages.add(run);
    blocks.push_back({run.begin, run.end});
  }
  const ranges kept = image.kept();
  map.no_block.free += bytes_in(joined(heaps.unused), kept);
  ranges all = heaps.own;
  all.insert(all.end(), blocks.begin(), blocks.end());
  all = joined(std::move(all));
  map.own = bytes_in(all, kept) - bytes_in(joined(std::move(blocks)), kept);

  ranges mappings;
  for (const image::mapping& m : image.mappings()) {
    const auto heap = std::ranges::upper_bound(all, m.begin, {}, &trace::address_range::end);
    if (heap == all.end() || heap->begin >= m.end) continue;
    mappings.push_back({m.begin, m.end});
    map.resident += m.resident;
    map.swapped += m.swapped;
    if (m.is_closed) map.closed += m.resident + m.swapped;
  }
  const std::uint64_t there = bytes_in(mappings, kept);
  map.other = there - std::min(there, map.in_memory());  // runs of a broken heap may overlap
  if (!image.counts) map.resident = there;
  return map;
}

}  // namespace ashlar::inspect
