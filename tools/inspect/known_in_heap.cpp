// tools/inspect/known_in_heap.cpp. Layer: inspect.
#include "tools/inspect/known_in_heap.hpp"

#include <algorithm>

namespace ashlar::inspect {

class_blocks& class_of(heap_contents& heaps, std::uint64_t block_size) {
  const auto same = std::ranges::find(heaps.classes, block_size, &class_blocks::block_size);
  if (same != heaps.classes.end()) return *same;
  heaps.classes.emplace_back().block_size = block_size;
  return heaps.classes.back();
}

void add_guarded(heap_contents& heaps) {
  found_heap guarded;
  guarded.name = "guarded blocks";
  for (const known_block& known : heaps.known.all) {
    if (known.end == 0) continue;
    page_run slot;
    slot.begin = known.begin;
    slot.end = known.end;
    slot.heap = static_cast<std::uint32_t>(heaps.heaps.size());
    slot.is_large = true;
    heaps.runs.push_back(slot);
    if (known.is_freed) continue;
    heaps.live.push_back(
        {known.address, known.size, static_cast<std::uint32_t>(heaps.runs.size() - 1)});
    class_blocks& large = class_of(heaps, 0);
    ++large.live;
    large.live_bytes += known.size;
    ++guarded.blocks;
    guarded.bytes += known.size;
  }
  if (heaps.runs.empty() || heaps.runs.back().heap != heaps.heaps.size()) return;  // no slot
  if (!heaps.heaps.empty()) guarded.library = heaps.heaps.front().library;
  heaps.heaps.push_back(guarded);
}

void apply_known(heap_contents& heaps) {
  constexpr std::uint64_t none = UINT64_MAX;
  bool is_fewer = false;
  for (const known_block& known : heaps.known.all) {
    if (known.end != 0) continue;
    const auto block =
        std::ranges::lower_bound(heaps.live, known.begin, {}, &trace::held_block::address);
    if (block == heaps.live.end() || block->address != known.begin) continue;
    const page_run& run = heaps.runs[block->stack];
    std::uint64_t size = known.size;
    std::uint64_t block_size = run.block_size;
    if (known.is_sample) {
      const auto smallest =
          std::ranges::lower_bound(heaps.block_sizes, std::max<std::uint64_t>(known.size, 1));
      if (!run.is_large || smallest == heaps.block_sizes.end()) continue;
      size = block_size = *smallest;
    }
    found_heap& heap = heaps.heaps[run.heap];
    class_blocks& before = class_of(heaps, run.block_size);
    --before.live;
    before.live_bytes -= block->size;
    heap.bytes -= block->size;
    if (known.is_freed) {
      --heap.blocks;
      ++before.at_rest[static_cast<std::size_t>(resting::in_queue)];
      block->size = none;
      is_fewer = true;
      continue;
    }
    class_blocks& now = class_of(heaps, block_size);
    ++now.live;
    now.live_bytes += size;
    heap.bytes += size;
    block->address = known.address;
    block->size = size;
  }
  if (is_fewer) std::erase_if(heaps.live, [](const auto& b) { return b.size == none; });
}

}  // namespace ashlar::inspect
