// check/copied_block.hpp: the last way to reallocate, for every heap and every check: a new block, a copy, a free.
// Layer: check.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ashlar::detail {

/// Effects: moves a block of `have` bytes to one that take() returns, by copying, and gives the old one to
/// give(block). Returns: the new block. When take() has none: what stay(block) returns, if the block was to
/// shrink, for shrinking cannot fail; else null, and the block stays as it is.
template <class Take, class Give, class Stay>
[[nodiscard]] void* reallocate_by_copy(void* block, std::size_t have, std::size_t size, Take take,
                                       Give give, Stay stay) noexcept {
  void* const fresh = take();
  if (fresh == nullptr) return size <= have ? stay(block) : nullptr;
  std::memcpy(fresh, block, std::min(have, size));
  give(block);
  return fresh;
}

}  // namespace ashlar::detail
