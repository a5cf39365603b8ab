// tools/inspect/address_answer.hpp: what an address of a process is, and what points there. Layer:
// inspect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/image/memory_image.hpp"
#include "tools/inspect/file_symbols.hpp"
#include "tools/inspect/heap_reader.hpp"

namespace ashlar::inspect {

/// A block of the heap, in use or not.
struct told_block {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  bool is_live = false;
  std::string what;  ///< is in it; of one that is not in use: where it rests
  const known_block* known =
      nullptr;                ///< what else is known of it, in heap_contents; null: nothing
  trace::address_range room;  ///< what the heap, or a slot, has for it: as long or longer
};

/// A word that holds an address in the block.
struct told_pointer {
  std::uint64_t address = 0;  ///< where it lies; 0: in a register
  std::uint64_t value = 0;
  std::string where;  ///< in words
};

struct address_answer {
  std::uint64_t address = 0;
  std::string place;                 ///< in words, where it is in no block
  std::optional<told_block> block;   ///< that holds it
  std::optional<told_block> before;  ///< its neighbours
  std::optional<told_block> behind;
  std::vector<told_pointer> pointers;   ///< ten at most
  std::uint64_t pointers_left_out = 0;  ///< more than these
};

/// Returns: what is there. O(words of the process).
[[nodiscard]] address_answer answer_for(const image::memory_image& image,
                                        const heap_contents& heaps, std::uint64_t address,
                                        file_symbols& names);

}  // namespace ashlar::inspect
