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
  ranges free_runs;
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

}  // namespace ashlar::inspect
