// pages/grown_table.hpp: a table whose addresses are there from the start, and whose memory grows.
// Layer: pages.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ashlar/core/bits.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// Where the memory of a stretch that grows comes from.
enum class ground : bool { reserved, gap };

/// Effects: the next `bytes` of a stretch may be used. Returns: false when the system refused.
template <address_space Space>
[[nodiscard]] bool take_ground(Space& space, ground from, void* p, std::size_t bytes) noexcept {
  return from == ground::gap ? space.claim(p, bytes) : space.commit(p, bytes);
}

/// A table that grows inside a reservation or a gap: entries below `count` exist, those committed
/// may.
template <class T>
class grown_table {
 public:
  /// Effects: the table is at `memory`, of which so many bytes may be used already.
  void place(void* memory, ground from, std::size_t committed = 0) noexcept {
    entries_ = static_cast<T*>(memory);
    committed_ = committed;
    from_ = from;
  }
  [[nodiscard]] T* entries() const noexcept { return entries_; }
  /// Returns: so many at some recent moment, if the table may grow meanwhile.
  [[nodiscard]] std::size_t committed_bytes() const noexcept {
    return __atomic_load_n(&committed_, __ATOMIC_RELAXED);
  }

  /// Effects: makes the first `count` entries writable. Returns: false when memory was refused.
  template <address_space Space>
  [[nodiscard]] bool ensure(Space& space, std::size_t count, std::size_t capacity) noexcept {
    const std::size_t wanted = align_up(count * sizeof(T), page_size);
    if (wanted <= committed_) return true;
    // A quarter more than what is there, so that the number of system calls stays logarithmic.
    const std::size_t all = align_up(capacity * sizeof(T), page_size);
    const std::size_t step = align_up(std::max(committed_ / 4, 4 * page_size), page_size);
    const std::size_t next = std::min(all, std::max(wanted, committed_ + step));
    return commit_to(space, next) || commit_to(space, wanted);
  }

  /// Effects: the first `count` entries are in memory. Requires: they are writable.
  template <address_space Space>
  [[nodiscard]] bool populate(Space& space, std::size_t count) noexcept {
    return count == 0 || space.populate(entries_, align_up(count * sizeof(T), page_size));
  }

 private:
  friend struct heap_layout;  // tells where the members are
  template <address_space Space>
  [[nodiscard]] bool commit_to(Space& space, std::size_t end) noexcept {
    if (!take_ground(space, from_, reinterpret_cast<char*>(entries_) + committed_,
                     end - committed_))
      return false;
    __atomic_store_n(&committed_, end, __ATOMIC_RELAXED);
    return true;
  }

  T* entries_ = nullptr;
  std::size_t committed_ = 0;
  ground from_ = ground::reserved;
};

}  // namespace ashlar::detail
