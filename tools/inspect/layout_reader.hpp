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

}  // namespace ashlar::inspect
