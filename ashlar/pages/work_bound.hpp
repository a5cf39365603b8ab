// pages/work_bound.hpp: how much one call does at most.
// Layer: pages.
//
// Each loop of a miss whose length depends on the program takes turns, and each turn has a price in
// instructions. A miss may spend `heap_bounds::work_a_call` on them. When that is spent, the loops
// stop, each after one turn at least, and a later miss goes on where they stopped.
//
//   a miss = a fixed part + its batch of blocks + what it spends + the turn that it is in
//
// Prices are measured: tests/work_bound steps through such loops, and fails if a turn takes more
// than its price, or less than half of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

/// What a turn does.
enum class turn : std::uint8_t {
  block_taken,      ///< a block comes into a cache, from a slab or a stash
  slab_taken_from,  ///< a slab gives blocks to a batch
  word_passed,      ///< a word of that slab's bitmap
  stretch_sorted,   ///< neighbours that come one behind the other go back to their slab
  block_sorted,     ///< one of them
  slab_left,        ///< a slab whose blocks are all free goes
  stack_passed,     ///< a cache's stack is asked whether it rests
  class_passed,     ///< a class is asked whether its stashes have blocks
  class_summed,     ///< a class is asked what its slabs have
  run_passed,       ///< a run of pages is looked at, or a page inside of one
  run_purged,       ///< a free run goes back to the system
  slab_looked_at,   ///< a slab is asked for free pages
  page_looked_at,   ///< one of its pages is looked at, and goes back to the system
  slab_made  ///< a slab comes from pages; a call makes one at most, and nothing is spent for it
};
inline constexpr std::size_t turns_max = static_cast<std::size_t>(turn::slab_made) + 1;

/// Returns: the instructions of a turn, at most. x86-64, gcc; beside system calls.
[[nodiscard]] ASHLAR_HOT constexpr std::size_t price_of(turn t) noexcept {
  constexpr std::size_t prices[turns_max] = {
      /*block_taken*/ 30,    /*slab_taken_from*/ 110,
      /*word_passed*/ 6,     /*stretch_sorted*/ 105,
      /*block_sorted*/ 32,   /*slab_left*/ 500,
      /*stack_passed*/ 45,   /*class_passed*/ 20,
      /*class_summed*/ 110,  /*run_passed*/ 40,
      /*run_purged*/ 450,    /*slab_looked_at*/ 300,
      /*page_looked_at*/ 98, /*slab_made*/ 1500};
  return prices[static_cast<std::size_t>(t)];
}

/// Neighbours that one turn sorts back, at most.
inline constexpr std::size_t stretch_blocks_max = 64;

/// The price of the dearest turn, with what belongs to it: a block is sorted back, whose slab goes.
/// A look at one page of a slab, a run that is purged and all others cost less.
inline constexpr std::size_t dearest_turn =
    price_of(turn::stretch_sorted) + price_of(turn::block_sorted) + price_of(turn::slab_left);

/// Effects: a test's space learns of `n` turns. Nothing for any other space.
template <class Space>
constexpr void note_turns([[maybe_unused]] turn t, [[maybe_unused]] std::size_t n) noexcept {
  if constexpr (requires { Space::note_turns(t, n); }) Space::note_turns(t, n);
}

/// What one call may still spend. Instructions.
class work {
 public:
  explicit constexpr work(std::size_t instructions) noexcept
      : left_(instructions > PTRDIFF_MAX ? PTRDIFF_MAX
                                         : static_cast<std::ptrdiff_t>(instructions)) {}
  /// Returns: as much as there ever is to do. For calls that promise no bound.
  [[nodiscard]] static constexpr work without_end() noexcept { return work(PTRDIFF_MAX); }

  [[nodiscard]] constexpr bool is_left() const noexcept { return left_ > 0; }
  /// Returns: `n`, or as many turns as may still be paid for, one at least.
  [[nodiscard]] constexpr std::size_t turns_left(turn t, std::size_t n) const noexcept {
    const auto price = static_cast<std::ptrdiff_t>(price_of(t));
    if (left_ >= static_cast<std::ptrdiff_t>(n) * price) [[likely]]
      return n;
    return left_ > price ? static_cast<std::size_t>(left_ / price) : 1;
  }
  template <class Space>
  ASHLAR_HOT constexpr void spend(turn t, std::size_t n = 1) noexcept {
    left_ -= static_cast<std::ptrdiff_t>(price_of(t) * n);
    note_turns<Space>(t, n);
  }

 private:
  std::ptrdiff_t left_;
};

}  // namespace ashlar::detail
