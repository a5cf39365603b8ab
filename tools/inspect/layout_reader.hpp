// tools/inspect/layout_reader.hpp: the library's description of its layout: where it is, and what lies
// where it says. Layer: inspect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ashlar/core/heap_image.hpp>

#include "tools/image/memory_image.hpp"

namespace ashlar::inspect {

/// A program or library of the process that has heaps.
struct described_library {
  std::string path;
  detail::heap_image layout{};
};

/// Returns: the descriptions that the process's files bring. Throws: files::command_error, with a remedy,
/// where there is none, or one of another version.
[[nodiscard]] std::vector<described_library> described_libraries(const image::memory_image& image);

/// Numbers in the process's memory.
class layout_reader {
 public:
  layout_reader(const image::memory_image& memory, const detail::heap_image&) : memory_(memory) {}

  [[nodiscard]] static std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }
  /// Returns: the number of 1, 2, 4 or 8 bytes that this part of the structure at `structure` is.
  [[nodiscard]] std::optional<std::uint64_t> number(std::uint64_t structure,
                                                    detail::image_part part) const {
    const std::uint64_t at = structure + part.offset;
    switch (part.bytes) {
      case 1:
        return memory_.value_at<std::uint8_t>(at);
      case 2:
        return memory_.value_at<std::uint16_t>(at);
      case 4:
        return memory_.value_at<std::uint32_t>(at);
      case 8:
        return memory_.value_at<std::uint64_t>(at);
      default:
        return {};
    }
  }

 private:
  const image::memory_image& memory_;
};

}  // namespace ashlar::inspect
