// heap/copied_block.hpp: a new block of any heap, and the last way to reallocate: a new block, a
// copy, a free.
// Layer: heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ashlar::detail {

/// A block that nobody has had yet; null: there is none.
struct new_block {
  void* address = nullptr;
  bool is_zero = false;  ///< it is known to be

  /// Effects: the first `size` bytes are zero. Returns: the address.
  void* cleared(std::size_t size) const noexcept {
    return address == nullptr || is_zero ? address : std::memset(address, 0, size);
  }
};

/// Effects: copies a block of `have` bytes to one that take() returns, and gives the old one to
/// give(block). Returns: the new block. If take() has none, `block` stays as it is. Then returns
/// `block` if that was to shrink, because shrinking cannot fail, else null.
template <class Take, class Give>
[[nodiscard]] void* reallocate_by_copy(void* block, std::size_t have, std::size_t size, Take take,
                                       Give give) noexcept {
  void* const fresh = take();
  if (fresh == nullptr) return size <= have ? block : nullptr;
  std::memcpy(fresh, block, std::min(have, size));
  give(block);
  return fresh;
}

}  // namespace ashlar::detail
