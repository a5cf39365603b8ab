// tools/inspect/layout_reader.hpp: the library's description of its layout: where it is, and what
// lies where it says. Layer: inspect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ashlar/core/heap_image.hpp>
#include <ashlar/core/watch_image.hpp>

#include "tools/image/memory_image.hpp"
#include "tools/trace/reachability.hpp"

namespace ashlar::inspect {

/// A program or library of the process that has heaps.
struct described_library {
  std::string path;
  detail::heap_image layout{};
};

/// Returns: the descriptions that the process's files bring. Throws: files::command_error, with a
/// remedy, where there is none, or one of another version.
[[nodiscard]] std::vector<described_library> described_libraries(const image::memory_image& image);

/// Returns: the descriptions of checks and samples; none where the library brings none. Throws: as
/// described_libraries, for another version.
[[nodiscard]] std::vector<detail::watch_image> described_watches(const image::memory_image& image);

/// Returns: the number of 1, 2, 4 or 8 bytes that this part of the structure at `structure` is;
/// nothing where a byte is missing.
[[nodiscard]] std::optional<std::uint64_t> number_at(const image::memory_image& memory,
                                                     std::uint64_t structure,
                                                     detail::image_part part);

// What checks and samples know of single blocks of a process.
// It walks by the library's second description (core/watch_image.hpp). Checks keep records of blocks
// outside of the heap: their addresses there are no pointers of the program's.

/// A call that made or freed a block.
struct told_deed {
  std::uint32_t call = 0;    ///< in known_blocks::calls; 0: nobody knows which it was
  std::uint32_t stack = 0;   ///< in known_blocks::stacks; 0: it is not known
  std::uint64_t thread = 0;  ///< 0: the same
};

/// A block that has a record or is a sample.
struct known_block {
  std::uint64_t address = 0;  ///< what its caller has
  std::uint64_t size = 0;     ///< what its caller asked for
  std::uint64_t begin = 0;    ///< of the heap's block around it, or of its slot
  std::uint64_t end = 0;      ///< of its slot; 0: it is a block of the heap
  bool is_sample = false;     ///< and nothing else
  bool is_freed = false;
  told_deed made;
  told_deed freed;
};

struct known_blocks {
  std::vector<known_block> all;  ///< in the order of addresses, each once
  std::vector<std::string> calls{""};
  std::vector<std::vector<std::uint64_t>> stacks{{}};  ///< where each call returns to
  std::vector<trace::address_range> own;               ///< the records, and the slots

  /// Returns: the block that its caller knows by an address in [begin, end); null: none is known.
  [[nodiscard]] const known_block* in(std::uint64_t begin, std::uint64_t end) const;
};

/// Returns: what is known. Effects: adds a sentence to `broken` for each list that leads nowhere.
/// Throws: files::command_error for a description of another version. O(blocks that are known).
[[nodiscard]] known_blocks read_known_blocks(const image::memory_image& image,
                                             std::vector<std::string>& broken);

}  // namespace ashlar::inspect
