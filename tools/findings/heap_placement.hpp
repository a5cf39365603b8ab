// tools/findings/heap_placement.hpp: where ashlar's heap would have the blocks of a trace.
// Layer: findings.
//
//   recorded   | 40 | 200 | 40 |  200 |        by the allocator that served the program
//   placed     | 40 40 40 ... | 200 200 ...|   a slab has blocks of one class
//
// A block takes the lowest free place of its class, and a new slab lies behind all others. A block
// that no class serves has pages of its own. The heap's caches are not replayed: they give back what
// was freed last, and sort it back when memory is short. So this is the heap at its tidiest.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include <ashlar/heap/class_table.hpp>

#include "tools/findings/page_use.hpp"

namespace ashlar::findings {

/// Not thread-safe. Memory: a word for each place of a block. Complexity: O(log places) a step.
class heap_placement {
 public:
  /// Effects: places the block of a birth, and frees the place of a death. Requires: each step of a
  /// trace, in order. Returns: the step, of a birth with the place as its address.
  trace::step placed(trace::step s) {
    if (s.happened == trace::step::what::birth) {
      if (s.slot >= blocks_.size()) blocks_.resize(s.slot + std::size_t{1});
      const shape of = shape_for(s.size, s.alignment);
      places& free = free_[of.block];
      if (free.empty()) add_slab(of, free);
      blocks_[s.slot] = {of.block, free.top()};
      free.pop();
      s.address = blocks_[s.slot].address;
    } else if (s.happened == trace::step::what::death) {
      free_[blocks_[s.slot].bytes].push(blocks_[s.slot].address);
    }
    return s;
  }

 private:
  using places = std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>>;
  struct block {
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
  };
  struct shape {
    std::uint64_t block = 0;  // bytes
    std::uint64_t blocks = 0;
    std::uint64_t pages = 0;
  };

  // A damaged trace may say any size and alignment.
  static shape shape_for(std::uint64_t size, std::uint64_t alignment) {
    using ashlar::detail::class_table;
    using ashlar::detail::standard_classes;
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    const std::uint64_t bytes = std::clamp<std::uint64_t>(size, 1, most);
    if (class_table::serves(bytes, alignment) &&
        (alignment == 0 || std::has_single_bit(alignment))) {
      const auto c = standard_classes.of_aligned_size(bytes, alignment);
      if (c != 0) {
        const ashlar::detail::slab_shape& slab = standard_classes.shapes[c];
        return {slab.block_size, slab.blocks, slab.pages};
      }
    }
    const std::uint64_t pages = (bytes + page_bytes - 1) / page_bytes;
    return {pages * page_bytes, 1, pages};
  }

  void add_slab(const shape& of, places& free) {
    for (std::uint64_t i = 0; i < of.blocks; ++i) free.push(end_ + i * of.block);
    end_ = plain_address(end_ + of.pages * page_bytes);
  }

  std::unordered_map<std::uint64_t, places> free_;  // by block size
  std::vector<block> blocks_;                       // by slot
  std::uint64_t end_ = page_bytes;                  // of the last slab
};

}  // namespace ashlar::findings
