// heap/block_stash.hpp: blocks that wait between the caches and the slabs of their class.
// Layer: heap.
//
// Thread-safety: who calls has a lock, but for count().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace ashlar::detail {

/// What nobody can use before it is sorted back: blocks, and slabs without any in use.
struct resting_blocks {
  std::size_t blocks = 0;  ///< an empty slab counts as one: it takes as long
  std::size_t bytes = 0;

  void add(std::size_t count, std::size_t size) noexcept {
    blocks += count;
    bytes += count * size;
  }
  [[nodiscard]] resting_blocks operator+(const resting_blocks& other) const noexcept {
    return {blocks + other.blocks, bytes + other.bytes};
  }
};

/// Blocks that came back and are not in their slabs: a stack of addresses.
class block_stash {
 public:
  /// Requires: called once, or never: then there is no room.
  void place(void** slots, std::size_t capacity) noexcept {
    slots_ = slots;
    capacity_ = capacity;
  }
  /// Returns: whether `place` was called.
  [[nodiscard]] bool is_placed() const noexcept { return slots_ != nullptr; }
  /// Returns: its blocks, at some recent moment. Anyone may call it; all others need the lock.
  [[nodiscard]] std::size_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  /// Returns: the fewest blocks that it had since `watch`.
  [[nodiscard]] std::size_t lowest() const noexcept { return lowest_; }
  void watch() noexcept { lowest_ = count(); }
  [[nodiscard]] void** at(std::size_t index) noexcept { return slots_ + index; }

  /// Effects: the first blocks that have room are its own. Returns: how many.
  [[nodiscard]] std::size_t give(void* const* blocks, std::size_t many) noexcept {
    const std::size_t had = count(), done = std::min(many, capacity_ - had);
    if (done == 0) return 0;  // it may have no slots
    std::memcpy(at(had), blocks, done * sizeof(void*));
    set(had + done);
    return done;
  }
  /// Effects: up to `many` from its top go to out[-1], out[-2], ... Returns: how many.
  [[nodiscard]] std::size_t take(void** out, std::size_t many) noexcept {
    const std::size_t had = count(), got = std::min(many, had);
    if (got == 0) return 0;
    std::memcpy(out - got, at(had - got), got * sizeof(void*));
    set(had - got);
    lowest_ = std::min(lowest_, had - got);
    return got;
  }
  /// Effects: the first `done` of the `many` blocks below the one at `end` have left it. As many
  /// from the top take their place. Requires: done <= many <= end <= count().
  void drop(std::size_t end, std::size_t many, std::size_t done) noexcept {
    void** const begin = at(end - many);
    std::memmove(begin, begin + done, (many - done) * sizeof(void*));
    const std::size_t had = count(), moved = std::min(done, had - end);
    std::memmove(at(end - done), at(had - moved), moved * sizeof(void*));
    set(had - done);
    lowest_ = std::min(lowest_, end - done);
  }

 private:
  friend struct heap_layout;  // tells where the members are
  void set(std::size_t count) noexcept { count_.store(count, std::memory_order_relaxed); }

  void** slots_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t lowest_ = 0;
  std::atomic<std::size_t> count_{0};  // written under the lock
};

}  // namespace ashlar::detail
