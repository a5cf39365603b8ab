// tools/inspect/memory_parts.hpp: all memory of a process, by what has it, and the heap's pages by
// what keeps them. Layer: inspect.
//
//   a slab's page    |##|##|##|##|  full     |##|  |##|  |  partly
//    ## in use       |##|        |  hollow   |           |  free, or purged where it is not in memory
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tools/image/memory_image.hpp"
#include "tools/inspect/heap_reader.hpp"

namespace ashlar::inspect {

/// Memory with one use.
struct memory_part {
  const char* key;          ///< in JSON
  const char* what;         ///< a line's begin
  std::uint64_t bytes = 0;  ///< that the image has
};

/// Returns: the parts of what the image has. Their sum is that of image.kept(). O(blocks + mappings).
[[nodiscard]] std::vector<memory_part> memory_parts(const image::memory_image& image,
                                                    const heap_contents& heaps);

/// Bytes of pages, by what keeps them. The first four are in memory.
struct page_uses {
  std::uint64_t full = 0;       ///< each block there is in use
  std::uint64_t partly = 0;     ///< some are
  std::uint64_t hollow = 0;     ///< some are, of less than a quarter of the page
  std::uint64_t free = 0;       ///< none is
  std::uint64_t purged = 0;     ///< the same, not in memory: given back, or never used
  std::uint64_t untouched = 0;  ///< in use and not in memory: the program never wrote there

  [[nodiscard]] std::uint64_t in_memory() const { return full + partly + hollow + free; }
  page_uses& operator+=(const page_uses& more);
};

/// The memory of all heaps. A core file is taken for memory: it has purged pages as free ones.
/// Law: in_memory() + other + closed = resident + swapped + only_read().
struct page_map {
  std::map<std::uint64_t, page_uses> by_size;  ///< of slabs, by their block size; 0: large blocks
  page_uses no_block;                          ///< free runs, and addresses that were never used
  std::uint64_t own = 0;                       ///< tables, caches and stashes, in memory

  // Of the mappings that the heaps lie in.
  std::uint64_t other = 0;     ///< in memory, and not the heaps'
  std::uint64_t closed = 0;    ///< in memory, and cannot be read
  std::uint64_t swapped = 0;   ///< counted above, and in no memory
  std::uint64_t resident = 0;  ///< as the system counts it, or in the core

  struct pinned_share {
    std::size_t block = 0;  ///< in heap_contents::live
    std::uint64_t bytes = 0;
  };
  std::vector<pinned_share> pinned;  ///< what is not in use of hollow pages, by the blocks there

  [[nodiscard]] page_uses sum() const;
  [[nodiscard]] std::uint64_t in_memory() const { return sum().in_memory() + own; }
  /// Of pages that were read and never written, there is one in memory. Below 0: it is not known
  /// what the system counted more.
  [[nodiscard]] std::int64_t only_read() const;
};

/// O(pages + blocks).
[[nodiscard]] page_map map_pages(const image::memory_image& image, const heap_contents& heaps);

}  // namespace ashlar::inspect
