// pool/plain_blocks.hpp: how blocks are taken and given back by one caller at a time.
// Layer: pool (freestanding). Not for users: the pool's engine calls it, with its
// lock held where it has one.
//
//   numbered run   its own list of numbers says which blocks are free, and which are live
//   other runs     a list through the free blocks themselves; nothing is known of the others
//
// Law: the hits are take and give. They look at the slab in use alone; take_next and give_aside
// look at the others. Invariant: a block that was carved is live, kept by the engine, or free.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/free_list.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/run_traits.hpp>

namespace ashlar::detail {

template <class Run>
class plain_blocks {
  using traits = typename Run::traits;
  using list = typename traits::list;
  static constexpr bool numbered = traits::numbered;

 public:
  constexpr plain_blocks() noexcept = default;

  // ---- hits ----

  /// Returns: the number of a block that is live now; 0 when the slab in use has no free one.
  [[nodiscard]] ASHLAR_HOT static std::size_t take(Run& run) noexcept
    requires numbered
  {
    return run.mark().pop(run.links());
  }
  /// Returns: a free block, or null.
  [[nodiscard]] ASHLAR_HOT void* take() noexcept
    requires(!numbered)
  {
    return free_.pop();
  }
  /// Effects: the block with number `n` is free. Returns: false, and nothing has changed, when it
  /// is no live block of the slab in use.
  [[nodiscard]] ASHLAR_HOT static bool give(Run& run, std::size_t n) noexcept
    requires numbered
  {
    if (!run.mark().is_live(run.links(), n)) [[unlikely]]
      return false;
    run.mark().push(run.links(), n);
    return true;
  }
  ASHLAR_HOT void give(void* p) noexcept
    requires(!numbered)
  {
    free_.push(p);
  }

  // ---- misses ----

  /// Returns: a block of another slab, or one that was never in use; null when there is none.
  [[nodiscard]] static std::byte* take_next(Run& run) noexcept {
    if constexpr (numbered) {
      if (std::byte* const p = take_freed_aside(run); p != nullptr) return p;
    }
    return carve(run, true);
  }
  /// Effects: a live block of a slab that is not in use is free. Returns: false when `p` is none.
  [[nodiscard]] static bool give_aside(Run& run, const void* p) noexcept {
    if constexpr (Run::grows) {
      const auto place = run.find_aside(p);
      if (place.of != nullptr && place.of->links[place.number] == list::live) {
        run.put_free_aside(place);
        return true;
      }
    }
    return false;
  }
  /// Returns: whether `p`, any address at all, is a block in use.
  [[nodiscard]] static bool is_live(const Run& run, const void* p) noexcept {
    if (run.mark().is_live(run.links(), run.index_of(p))) [[likely]]
      return true;
    if constexpr (Run::grows) {
      const auto place = run.find_aside(p);
      return place.of != nullptr && place.of->links[place.number] == list::live;
    }
    return false;
  }

  // ---- figures ----

  /// Returns: how many blocks are free; SIZE_MAX if a list leaves the pool or runs in a circle.
  [[nodiscard]] std::size_t free_count(const Run& run) const noexcept {
    std::size_t n = 0;
    if constexpr (numbered) {
      run.each_list([&n](const list& freed, const auto* links) {
        const std::size_t length = freed.length(links);
        n = n == SIZE_MAX || length == SIZE_MAX ? SIZE_MAX : n + length;
      });
    } else {
      const std::size_t most = run.blocks_made();
      for (const free_block* f = free_.head(); f != nullptr; f = next_of(f)) {
        bool sound = false;
        run.each_run([&](const run_view& view) { sound = sound || view.is_carved_block(f); });
        if (!sound || n++ >= most) return SIZE_MAX;
      }
    }
    return n;
  }
  [[nodiscard]] static constexpr std::size_t quarantined() noexcept { return 0; }

 protected:
  /// Returns: a free block of another slab, which is live now; null when there is none.
  [[nodiscard]] static std::byte* take_freed_aside(Run& run) noexcept {
    if constexpr (Run::grows) {
      if (run.use_freed_slab()) return run.at(run.mark().pop(run.links()));
    }
    return nullptr;
  }
  /// Returns: a block that was never in use, live now where that is kept; or null.
  [[nodiscard]] static std::byte* carve(Run& run, bool may_grow) noexcept {
    std::size_t i = run.advance();
    if constexpr (Run::grows) {
      if (i == Run::traits::none && may_grow && run.grow()) i = run.advance();
    }
    return i == Run::traits::none ? nullptr : run.at(i);
  }

 private:
  [[no_unique_address]] std::conditional_t<numbered, nothing<8>, free_list> free_;
};

}  // namespace ashlar::detail
