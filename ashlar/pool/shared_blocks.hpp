// pool/shared_blocks.hpp: how blocks are taken and given back by many callers at a time: lock_free.
// Layer: pool (freestanding). Not for users: the pool's engine calls it.
//
//   free blocks   a stack of numbers, with a tag against a block that comes back meanwhile
//   states        one byte a block, where states are tracked: who frees a block twice is told
//
// Law: of two callers that free one block at the same time, one claims it.
// Invariant, while nobody calls: carved == free + in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/byte_exchange.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/guard_bytes.hpp>
#include <ashlar/core/tagged_stack.hpp>
#include <ashlar/pool/run_traits.hpp>

namespace ashlar::detail {

template <class Run, class Word>
class shared_blocks {
  using traits = typename Run::traits;

 public:
  /// Returns: a block, or null when there is none.
  [[nodiscard]] std::byte* take(Run& run) noexcept {
    std::size_t i = free_.pop(run.links());
    if (i == free_.none) {
      i = run.advance();
      if (i == SIZE_MAX) [[unlikely]] {
        // A block may have come back between the two looks. All are carved now, for good, so if
        // the stack is empty once more there was a moment when all were in use.
        i = free_.pop(run.links());
        if (i == free_.none) return nullptr;
      }
    }
    if constexpr (traits::tracks_state)
      state(run, i).store(block_state::live, std::memory_order_relaxed);
    return run.at(i);
  }

  /// Effects: the block with index `i` is no longer in use, and the caller's to give. Returns:
  /// false when it was not in use, where states are tracked.
  [[nodiscard]] static bool claim(Run& run, std::size_t i) noexcept {
    if constexpr (traits::tracks_state) {
      // The exchange decides between two callers that free one block at the same time.
      return i < run.carved() &&
             exchange_byte(run.states()[i], block_state::free) == block_state::live;
    } else {
      return true;
    }
  }
  /// Effects: the block with index `i`, which the caller has claimed, is free.
  void give(Run& run, std::size_t i) noexcept {
    free_.push(run.links(), static_cast<typename traits::index_type>(i));
  }

  /// Returns: whether `p`, any address at all, is a block in use. Requires: states are tracked.
  [[nodiscard]] static bool is_live(const Run& run, const void* p) noexcept {
    const std::size_t i = run.index_of(p);
    return i < run.carved() && state(run, i).load(std::memory_order_relaxed) == block_state::live;
  }

  // ---- figures: while nobody else calls ----

  /// Returns: how many blocks are free; SIZE_MAX if the stack leaves the pool or runs in a circle.
  [[nodiscard]] std::size_t free_count(const Run& run) const noexcept {
    const std::size_t most = run.blocks_made();
    std::size_t n = 0;
    free_.walk(run.links(), [&](std::size_t i) {
      if (i >= most || n >= most) {
        n = SIZE_MAX;
        return false;
      }
      ++n;
      return true;
    });
    return n;
  }
  [[nodiscard]] static constexpr std::size_t quarantined() noexcept { return 0; }

 private:
  [[nodiscard]] static std::atomic_ref<block_state> state(const Run& run, std::size_t i) noexcept {
    return std::atomic_ref(run.states()[i]);
  }

  tagged_stack<Word> free_;
};

}  // namespace ashlar::detail
