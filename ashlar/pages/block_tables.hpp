// pages/block_tables.hpp: from any address to the class and the mark of its block, in one range.
// Layer: pages.
//
// Those of the first range never change once the heap has started. So every cache has a copy beside
// its tops: a free then reads no line that the heap writes, and takes one instruction less.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/pages/block_sign.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// What a range knows of a page: the class of the slab that it is in, and the length of the windows
/// of its marks (block_sign.hpp). A free loads both at once. Asked for by the class, the length
/// would be one load more in the chain from the address to its mark.
struct page_class {
  class_index size_class = 0;   ///< 0 where the page is in no slab
  std::uint8_t mark_shift = 0;  ///< the binary logarithm of the windows' length
};

/// R is the length of the range, rounded up. Addresses count from R before the range's begin: so
/// it lies at [R, 2R). The class table tells of what is around it, too: that is in no slab.
struct block_tables {
  std::uintptr_t origin = 0;            ///< R before the range's begin
  std::size_t end = 0;                  ///< 2R
  const page_class* classes = nullptr;  ///< of each page from the origin on
  std::uintptr_t marks = 0;             ///< `table` of block_sign.hpp

  /// Returns: what is known of the page that holds `address`; nothing if it is not here. Any value
  /// may be passed.
  [[nodiscard]] ASHLAR_HOT page_class page_of(const void* address) const noexcept {
    return page_of(address, end);
  }
  /// The same of the bytes before `until` only, which is `end` or less.
  [[nodiscard]] ASHLAR_HOT page_class page_of(const void* address,
                                              std::size_t until) const noexcept {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - origin;
    if (offset >= until) [[unlikely]]
      return {};
    return classes[offset >> page_shift];
  }
  /// Returns: the class of the slab that holds `address`; 0 if there is none here. Any value may be
  /// passed.
  [[nodiscard]] ASHLAR_HOT class_index class_of(const void* address) const noexcept {
    return page_of(address).size_class;
  }
  /// Returns: the mark for `address`. Requires: the range holds it, and has marks there for windows
  /// of this length.
  [[nodiscard]] ASHLAR_HOT block_mark* mark_at(const void* address, unsigned shift) const noexcept {
    return reinterpret_cast<block_mark*>(
        marks + ((reinterpret_cast<std::uintptr_t>(address) - origin) >> shift));
  }
};

}  // namespace ashlar::detail
