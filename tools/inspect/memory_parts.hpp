// tools/inspect/memory_parts.hpp: all memory of a process, by what has it. Layer: inspect.
#pragma once

#include <cstdint>
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

}  // namespace ashlar::inspect
