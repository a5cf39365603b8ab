// tools/inspect/heap_reader.hpp: ashlar's heaps in the memory of a process. Layer: inspect.
//
// It walks by the description that the library brings of itself (core/heap_image.hpp), so it knows
// no offset of its own. A block of a class is in use if it has its mark and not its key
// (pages/block_sign.hpp).
//
// Nothing that it reads is believed: a table that contradicts another one is told in `broken`, and
// what it is about is left out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/image/memory_image.hpp"
#include "tools/inspect/layout_reader.hpp"
#include "tools/trace/reachability.hpp"

namespace ashlar::inspect {

/// Where a block that is not in use rests.
/// `in_queue`: it was freed, and full checks keep it. `between`: on its way.
enum class resting : std::uint8_t { in_slab, in_stash, in_cache, in_queue, between };

/// What a class of one library has; class 0 is that of large blocks.
struct class_blocks {
  std::uint64_t block_size = 0;  ///< of a class: what its blocks are long
  std::uint64_t live = 0;
  std::uint64_t live_bytes = 0;
  std::array<std::uint64_t, 5> at_rest{};  ///< by `resting`
};

/// Consecutive pages with one use, or the slot of a guarded block.
struct page_run {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t heap = 0;        ///< in heap_contents::heaps
  std::uint32_t block_size = 0;  ///< of a slab; 0: none
  std::uint32_t blocks = 0;      ///< of a slab
  bool is_large = false;         ///< one block, in use or a slot's; neither: free
  std::uint64_t free_bits = 0;   ///< where the bits of a slab are
};

struct found_heap {
  std::string library;  ///< the file that has it
  std::string name;     ///< of an instance; empty: none
  std::uint64_t address = 0;
  std::uint64_t blocks = 0;  ///< live
  std::uint64_t bytes = 0;   ///< of these
  bool has_keys = false;     ///< several threads have used it
};

struct heap_contents {
  std::vector<found_heap> heaps;
  std::vector<trace::held_block>
      live;                    ///< in the order of addresses; `stack` is the index of its run
  std::vector<page_run> runs;  ///< the same
  std::vector<class_blocks> classes;       ///< in the order of block sizes
  std::vector<std::uint64_t> block_sizes;  ///< of all classes, sorted
  known_blocks known;                      ///< what checks and samples know of single blocks
  std::vector<std::uint64_t> cached;       ///< blocks in the caches of threads, sorted
  std::vector<std::uint64_t> stashed;      ///< the same of stashes
  std::vector<trace::address_range>
      own;  ///< the heaps' pages and tables, sorted: no roots are there
  std::vector<trace::address_range> unused;  ///< pages of these that were in no run yet
  std::vector<std::string> broken;    ///< which law does not hold, and where; each a sentence
  std::uint64_t broken_left_out = 0;  ///< of these sentences
};

/// Returns: what all heaps of the process have. Throws: files::command_error, with a remedy, where
/// no heap is found, or one of a layout that this command does not know. O(pages + blocks).
[[nodiscard]] heap_contents read_heaps(const image::memory_image& image);

/// Returns: the run that holds `address`; null: none does.
[[nodiscard]] const page_run* run_of(const heap_contents& heaps, std::uint64_t address);
/// Returns: the live block that begins in [begin, end); null: none does.
[[nodiscard]] const trace::held_block* live_block_in(const heap_contents& heaps,
                                                     std::uint64_t begin, std::uint64_t end);
/// Returns: where the block of a slab that starts at `block` rests. Requires: it is not in use.
[[nodiscard]] resting resting_place_of(const image::memory_image& image, const heap_contents& heaps,
                                       const page_run& slab, std::uint64_t block);

}  // namespace ashlar::inspect
