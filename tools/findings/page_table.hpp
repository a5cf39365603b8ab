// tools/findings/page_table.hpp: pages of 4 KiB by address, as small dense numbers. Layer:
// findings.
//
//   block   |......|   |...............|   |........ more than 128 KiB ........|
//   page    | 0 | 1 | 2 | 3 | ...          | first |    not looked at   | last |
//
// A large block is mostly a mapping of its own, and no other block lies in its inner pages. So a
// block costs at most 33 pages, however large it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tools/trace/address_map.hpp"

namespace ashlar::findings {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint64_t large_for_pages = 128 * 1024;

/// Returns: the bytes that a block takes up, where the allocator's own are not known: those of
/// glibc's malloc.
constexpr std::uint64_t bytes_taken(std::uint64_t size) {
  // Without overflow: a damaged trace may say anything.
  return (std::clamp<std::uint64_t>(size, 1, std::uint64_t{1} << 47) + 15) / 16 * 16;
}

/// Returns: an address with which no sum runs over.
constexpr std::uint64_t plain_address(std::uint64_t address) {
  return address & ((std::uint64_t{1} << 57) - 1);
}

/// Memory: an entry for each page in which a block ever began or ended, or that lay in a small one.
class page_table {
 public:
  /// Returns: the page's index, 0, 1, ... in the order of first use.
  std::uint32_t of(std::uint64_t number) {
    if (last_ < numbers_.size() && numbers_[last_] == number) return last_;
    const auto at = places_.find(number, [&](std::uint32_t i) { return numbers_[i] == number; });
    last_ = at.slot;
    if (at.slot == trace::address_map::none) {
      last_ = static_cast<std::uint32_t>(numbers_.size());
      places_.insert(at, number, last_);
      numbers_.push_back(number);
    }
    return last_;
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] std::uint64_t number(std::uint32_t page) const { return numbers_[page]; }

  /// Effects: calls `what(index, bytes)` for each page of a block and the block's bytes in it.
  template <class What>
  void for_each_page(std::uint64_t address, std::uint64_t taken, const What& what) {
    const std::uint64_t end = address + taken;
    const std::uint64_t first = address / page_bytes;
    const std::uint64_t last = (end - 1) / page_bytes;
    for (std::uint64_t number = first; number <= last; ++number) {
      if (taken > large_for_pages && number == first + 1) number = last;
      const std::uint64_t begin = std::max(address, number * page_bytes);
      what(of(number),
           static_cast<std::uint32_t>(std::min(end, (number + 1) * page_bytes) - begin));
    }
  }
  /// Returns: pages of a block that are not looked at.
  [[nodiscard]] static std::uint64_t inner_pages(std::uint64_t address, std::uint64_t taken) {
    if (taken <= large_for_pages) return 0;
    return (address + taken - 1) / page_bytes - address / page_bytes - 1;
  }

 private:
  trace::address_map places_;
  std::vector<std::uint64_t> numbers_;
  std::uint32_t last_ = 0;
};

}  // namespace ashlar::findings
