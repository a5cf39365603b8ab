// tools/findings/rounding.hpp: how large a block is that an allocator gives for a size.
// Layer: findings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <ashlar/heap/class_table.hpp>

namespace ashlar::findings {

/// Whose blocks they are. `unknown`: another allocator's, of which nothing is claimed.
enum class rounding : std::uint8_t { glibc, ashlar, unknown };

/// `options`: of a trace's header; "on=NAME" names what served the program, and without it the C
/// library did.
[[nodiscard]] inline rounding rounding_of(std::string_view options) {
  const std::size_t on = options.find("on=");
  if (on == std::string_view::npos) return rounding::glibc;
  return options.find("ashlar", on) == std::string_view::npos ? rounding::unknown
                                                              : rounding::ashlar;
}

struct block_size {
  std::uint64_t bytes = 0;    ///< of the block, with what the allocator needs for it; 0: not known
  std::uint64_t smaller = 0;  ///< of the next smaller block
  std::uint64_t serves = 0;   ///< the largest size that the smaller one is for
};

/// Up to 128 KiB: above that, both give pages.
[[nodiscard]] inline block_size block_size_of(std::uint64_t size, rounding of) {
  using ashlar::detail::class_table;
  using ashlar::detail::standard_classes;
  if (size == 0 || of == rounding::unknown || !class_table::serves(size, 0)) return {};
  if (of == rounding::glibc) {
    // A chunk has a header of 8 bytes, and is a multiple of 16 bytes, 32 at least.
    const std::uint64_t chunk = std::max<std::uint64_t>((size + 8 + 15) / 16 * 16, 32);
    return chunk == 32 ? block_size{chunk, 0, 0} : block_size{chunk, chunk - 16, chunk - 24};
  }
  const auto of_class = standard_classes.of_size(size);
  if (of_class == 0) return {standard_classes.block_size(of_class), 0, 0};
  const std::uint64_t below =
      standard_classes.block_size(static_cast<ashlar::class_index>(of_class - 1));
  return {standard_classes.block_size(of_class), below, below};
}

}  // namespace ashlar::findings
