// pages/heap_keys.hpp: the secret of a heap's keys (block_sign.hpp), and whether they are in use.
// Layer: pages. Misses alone come here: each cache has a copy of the secret for its hits.
#pragma once

#include <atomic>
#include <cstdint>

namespace ashlar::detail {

/// The keys of one heap. They come into use when it gets its second cache, and stay: blocks that
/// rest have them.
class heap_keys {
 public:
  constexpr heap_keys() noexcept = default;

  /// Requires: called once, before any other function; `secret` is not 0.
  void place(std::uint64_t secret) noexcept { secret_ = secret; }
  [[nodiscard]] std::uint64_t secret() const noexcept { return secret_; }

  /// Returns: whether blocks that are freed get keys.
  [[nodiscard]] bool are_in_use() const noexcept { return in_use_.load(); }
  void begin() noexcept { in_use_.store(true); }

  /// Effects: from now on a block that comes back to its slab is cleared of its key, or not any
  /// more. Requires: there is one thread.
  void clear_in_slabs(bool on) noexcept { clears_in_slabs_ = on; }
  [[nodiscard]] bool are_cleared_in_slabs() const noexcept { return clears_in_slabs_; }

 private:
  friend struct heap_layout;  // tells where the members are
  std::uint64_t secret_ = 0;
  bool clears_in_slabs_ = false;
  std::atomic<bool> in_use_{false};
};

}  // namespace ashlar::detail
