// tools/inspect/survey.hpp: the blocks of a process by what is in them, and those that no pointer
// leads to. Layer: inspect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/image/memory_image.hpp"
#include "tools/inspect/file_symbols.hpp"
#include "tools/inspect/heap_reader.hpp"
#include "tools/inspect/memory_parts.hpp"

namespace ashlar::inspect {

/// A call stack that allocated blocks of a group.
struct group_site {
  std::uint32_t stack = 0;  ///< in known_blocks::stacks
  std::uint64_t blocks = 0;
};

/// Blocks that have something in common.
struct block_group {
  std::string what;  ///< a C++ type, or "text", "zeros", "pointers", "other data"
  bool is_type = false;
  std::uint64_t block_size = 0;  ///< 0: of several sizes
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  /// Addresses, three at most; first those of blocks whose call stack is known.
  std::vector<std::uint64_t> examples;
  std::vector<group_site> sites;  ///< that are known, those of most blocks first
};

/// The groups with the most bytes first.
struct survey {
  std::vector<block_group> by_what;
  std::vector<block_group> pinning;  ///< by what and by block size; bytes are those that are pinned
  std::vector<block_group> unreachable;  ///< by what and by block size
  std::uint64_t unreachable_blocks = 0;
  std::uint64_t unreachable_bytes = 0;
};

/// The words that are roots beside those of memory: registers, and what the user names.
using root_words = std::vector<std::uint64_t>;

/// Returns: what the live blocks hold. O(blocks).
[[nodiscard]] std::vector<block_group> groups_by_what(const image::memory_image& image,
                                                      const heap_contents& heaps,
                                                      file_symbols& names);

/// Returns: the blocks of hollow pages, in groups by what and by block size. Their bytes are what they
/// pin: no page leaves before its last block. Their sites are also those of samples of the same kind.
/// O(blocks of hollow pages).
[[nodiscard]] std::vector<block_group> pinning_groups(const image::memory_image& image,
                                                      const heap_contents& heaps,
                                                      const page_map& pages, file_symbols& names);

/// Effects: fills in what no pointer leads to, from the registers, the stacks, the writable
/// mappings outside of the heap, and `more`. `heaps` is as before when it returns. O(words *
/// log(blocks)).
void find_unreachable_groups(const image::memory_image& image, heap_contents& heaps,
                             const root_words& more, file_symbols& names, survey& to);

/// Returns: the stretches where roots lie: the places of pointers without the heaps' own. Requires: both
/// are in the order of addresses.
[[nodiscard]] std::vector<trace::address_range> places_of_roots(
    const std::vector<trace::address_range>& places,
    const std::vector<trace::address_range>& all_own);

/// What is in a block.
struct block_content {
  std::string what;
  bool is_type = false;
};
[[nodiscard]] block_content content_of(const image::memory_image& image,
                                       const trace::held_block& block, file_symbols& names);

}  // namespace ashlar::inspect
