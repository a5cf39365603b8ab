// heap/block_tables.hpp: from any address to the class and the mark of its block, in one range.
// Layer: heap.
//
// Those of the first range never change once the heap has started. So every cache has a copy beside its
// tops: a free then reads no line that the heap writes, and takes one instruction less.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/block_marks.hpp>
#include <ashlar/heap/run.hpp>

namespace ashlar::detail {

/// R is the length of the range, rounded up. Addresses count from R before the range's begin: so the
/// range lies at [R, 2R). The class table tells of what is before and behind it, too: it is in no slab.
struct block_tables {
  std::uintptr_t origin = 0;  ///< R before the range's begin
  std::size_t end = 0;        ///< 2R
  const class_index* classes =
      nullptr;               ///< of each page from the origin on; 0 where it is in no slab
  std::uintptr_t marks = 0;  ///< `table` of block_marks.hpp

  /// Returns: the class of the slab that holds `address`; 0 if there is none here. Any value may be
  /// passed.
  [[nodiscard]] ASHLAR_HOT class_index class_of(const void* address) const noexcept {
    return class_of(address, end);
  }
  /// The same of the bytes before `until` only, which is `end` or less.
  [[nodiscard]] ASHLAR_HOT class_index class_of(const void* address,
                                                std::size_t until) const noexcept {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - origin;
    if (offset >= until) [[unlikely]]
      return 0;
    return classes[offset >> page_shift];
  }
  /// Returns: the mark for `address`. Requires: the range holds it, and has marks there for windows
  /// of this length.
  [[nodiscard]] ASHLAR_HOT block_mark* mark_at(const void* address, unsigned shift) const noexcept {
    return reinterpret_cast<block_mark*>(
        marks + ((reinterpret_cast<std::uintptr_t>(address) - origin) >> shift));
  }
};

}  // namespace ashlar::detail
