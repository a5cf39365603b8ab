// tools/findings/finding.hpp: what a program could change, with its place and what that would save.
// Layer: findings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/trace/call_names.hpp"

namespace ashlar::findings {

enum class finding_kind : std::uint8_t {
  leak,         ///< what the site holds rises all through the run, and is lost
  rising,       ///< the same, but blocks go, if only at the end, or a pointer leads to them
  growth,       ///< a block is outgrown again and again: nothing said how large it would become
  short_lived,  ///< made and freed within a few calls
  handoff,      ///< one thread makes the blocks, another frees them
  together,     ///< many blocks die at once
  nodes,        ///< a container has a small block for each element
  pool,         ///< many blocks of one size come and go
  hot_loop,     ///< very many blocks, of which hardly one lives at a time
  slack,        ///< a little more than a block size of the heap holds
  untouched,    ///< large blocks, most of which nobody ever touches
  pins,         ///< few blocks that keep many pages
};
inline constexpr std::size_t finding_kinds = 12;

/// How a finding is known.
enum class sureness : std::uint8_t {
  seen,      ///< the trace shows it: each block that counts did this
  inferred,  ///< from blocks that came and went beside each other, or from names of functions
};

struct finding {
  finding_kind kind{};
  sureness how_sure = sureness::seen;
  std::vector<trace::named_call>
      calls;              ///< the most frequent stack of the site, from the inside out
  std::size_t owner = 0;  ///< index in it: the line to look at
  std::string through;    ///< the library's function that this line calls, in short; empty: none
  std::uint32_t main_stack = UINT32_MAX;  ///< index of that stack among the trace's definitions
  /// Other lines that the same change is about. The figures are those of all.
  std::vector<trace::named_call> also;

  std::uint64_t bytes_saved_at_peak = 0;
  std::uint64_t allocations_saved = 0;
  /// Of untouched: bytes that were asked for and have no memory.
  std::uint64_t address_space_saved_at_peak = 0;

  std::uint64_t allocations = 0;    ///< of the site
  std::uint64_t bytes_at_peak = 0;  ///< that it held
  std::uint64_t most_live = 0;      ///< blocks at once
  std::uint64_t fitting =
      0;  ///< allocations that did what the kind says; of slack: blocks at the peak
  std::uint64_t block_bytes = 0;    ///< the one size; 0: several
  std::uint64_t chains = 0;         ///< of growth: blocks that were outgrown first
  std::uint64_t bursts = 0;         ///< of together: how often
  std::uint64_t smaller_bytes = 0;  ///< of slack: the size that would be enough less
  std::uint64_t saved_a_block = 0;  ///< of slack: bytes
  // Of untouched: of `looked_at` large blocks, `fitting` are as the kind says.
  std::uint64_t looked_at = 0;
  std::uint64_t largest_bytes = 0;    ///< of those that fit
  std::uint64_t untouched_bytes = 0;  ///< in all of those that fit, at least
  // Of pins, at a moment: `fitting` blocks lie in hollow pages.
  std::uint64_t bytes_saved_after_peak = 0;  ///< as a replay has shown
  std::uint64_t pinned_live_bytes = 0;       ///< of these blocks
  std::uint64_t pages_alone = 0;             ///< hollow pages without another site's block
  std::uint64_t held_bytes = 0;              ///< of all pages
  double pinned_at = 0;                      ///< of the run's time, 0 to 1; 1: at its end
  // Of leak and rising: what the site holds has risen by so many bytes in so many seconds.
  std::uint64_t bytes_saved_at_end = 0;
  std::uint64_t bytes_lost = 0;  ///< no pointer led to them at exit; 0: none, or nobody looked
  double rose_for_seconds = 0;
  double confidence = 0;

  /// Returns: the bytes by which findings are ranked.
  [[nodiscard]] std::uint64_t bytes_saved() const {
    return std::max({bytes_saved_at_peak, bytes_saved_after_peak, bytes_saved_at_end});
  }
};

}  // namespace ashlar::findings
