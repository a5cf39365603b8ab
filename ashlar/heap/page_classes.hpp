// heap/page_classes.hpp: from any address to the class of its block, if the first range holds it.
// Layer: heap.
//
// Three words that never change once the heap has started, so that every cache has a copy beside its
// tops: a free then reads no line that the heap writes, and one instruction less.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/run.hpp>

namespace ashlar::detail {

struct page_classes {
  std::uintptr_t base = 0;
  std::size_t pages = 0;
  const class_index* classes = nullptr;  ///< of each page; 0 where it is in no slab

  [[nodiscard]] constexpr std::size_t page_of(std::uintptr_t address) const noexcept {
    return (address - base) >> page_shift;
  }
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    return page_of(address) < pages;
  }
  /// Returns: the class of the slab that holds `address`; 0 if there is none here. Any value may be
  /// passed.
  [[nodiscard]] ASHLAR_HOT class_index of(const void* address) const noexcept {
    return of(address, pages);
  }
  /// The same of the pages below `end` only, which is `pages` or less.
  [[nodiscard]] ASHLAR_HOT class_index of(const void* address, std::size_t end) const noexcept {
    const std::size_t page = page_of(reinterpret_cast<std::uintptr_t>(address));
    if (page >= end) [[unlikely]]
      return 0;
    return classes[page];
  }
};

}  // namespace ashlar::detail
