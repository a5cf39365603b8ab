// pages/step_budget.hpp: how much one call does at most.
// Layer: pages.
//
// Each loop of a miss whose length depends on the program takes steps, and each step has a cost in
// instructions. A miss may spend `heap_bounds::instructions_a_call` on them. When that is spent,
// the loops stop, each after one step at least, and a later miss goes on where they stopped.
//
//   a miss = a fixed part + its batch of blocks + what it spends + the step that it is in
//
// Costs are measured: tests/work_bound counts those of such loops, and fails if a step takes more
// than its cost, or less than half of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

/// What a step does.
enum class step : std::uint8_t {
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
inline constexpr std::size_t step_kinds = static_cast<std::size_t>(step::slab_made) + 1;

/// Returns: the instructions of a step, at most. x86-64, gcc; beside system calls.
[[nodiscard]] ASHLAR_HOT constexpr std::size_t cost_of(step s) noexcept {
  constexpr std::size_t costs[step_kinds] = {
      /*block_taken*/ 30,     /*slab_taken_from*/ 110,
      /*word_passed*/ 6,      /*stretch_sorted*/ 105,
      /*block_sorted*/ 30,    /*slab_left*/ 500,
      /*stack_passed*/ 45,    /*class_passed*/ 20,
      /*class_summed*/ 110,   /*run_passed*/ 40,
      /*run_purged*/ 450,     /*slab_looked_at*/ 300,
      /*page_looked_at*/ 100, /*slab_made*/ 1500};
  return costs[static_cast<std::size_t>(s)];
}

/// Neighbours that one step sorts back, at most.
inline constexpr std::size_t stretch_blocks_max = 64;

/// The cost of the dearest step, with what belongs to it: a block is sorted back, whose slab goes.
/// A look at one page of a slab, a run that is purged and all others cost less.
inline constexpr std::size_t dearest_step =
    cost_of(step::stretch_sorted) + cost_of(step::block_sorted) + cost_of(step::slab_left);

/// Effects: a test's space learns of `n` steps. Nothing for any other space.
template <class Space>
constexpr void note_steps([[maybe_unused]] step s, [[maybe_unused]] std::size_t n) noexcept {
  if constexpr (requires { Space::note_steps(s, n); }) Space::note_steps(s, n);
}

/// What one call may still spend. Instructions.
class step_budget {
 public:
  explicit constexpr step_budget(std::size_t instructions) noexcept
      : left_(instructions > PTRDIFF_MAX ? PTRDIFF_MAX
                                         : static_cast<std::ptrdiff_t>(instructions)) {}
  /// Returns: as much as there ever is to do. For calls that promise no bound.
  [[nodiscard]] static constexpr step_budget without_end() noexcept {
    return step_budget(PTRDIFF_MAX);
  }

  [[nodiscard]] constexpr bool is_left() const noexcept { return left_ > 0; }
  /// Returns: `n`, or as many steps as may still be paid for, one at least.
  [[nodiscard]] constexpr std::size_t steps_left(step s, std::size_t n) const noexcept {
    const auto cost = static_cast<std::ptrdiff_t>(cost_of(s));
    if (left_ >= static_cast<std::ptrdiff_t>(n) * cost) [[likely]]
      return n;
    return left_ > cost ? static_cast<std::size_t>(left_ / cost) : 1;
  }
  template <class Space>
  ASHLAR_HOT constexpr void spend(step s, std::size_t n = 1) noexcept {
    left_ -= static_cast<std::ptrdiff_t>(cost_of(s) * n);
    note_steps<Space>(s, n);
  }

 private:
  std::ptrdiff_t left_;
};

}  // namespace ashlar::detail
