// tools/findings/site_history.hpp: what the blocks of each call site did, in one pass.
// Layer: findings.
//
// A block's age is counted in calls of the allocator that its thread made since, not in time: so
// two runs of one program have the same figures, and a slow machine has no other findings than a
// fast one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ashlar/heap/class_table.hpp>

#include "tools/findings/finding.hpp"
#include "tools/findings/site_table.hpp"
#include "tools/sites/growth.hpp"
#include "tools/trace/lifetimes.hpp"
#include "tools/trace/step_counts.hpp"

namespace ashlar::findings {

// How large a block is that an allocator gives for a size.

/// Whose blocks they are. `unknown`: another allocator's, of which nothing is claimed.
enum class rounding : std::uint8_t { glibc, ashlar, unknown };

/// `options`: of a trace's header; "on=NAME" names what served the program, and without it the C
/// library did.
[[nodiscard]] inline rounding rounding_of(std::string_view options) {
  const std::size_t on = options.find("on=");
  if (on == std::string_view::npos) return rounding::glibc;
  return options.find("ashlar", on) == std::string_view::npos ? rounding::unknown
                                                              : rounding::ashlar;
}

struct block_size {
  std::uint64_t bytes = 0;    ///< of the block, with what the allocator needs for it; 0: not known
  std::uint64_t smaller = 0;  ///< of the next smaller block
  std::uint64_t serves = 0;   ///< the largest size that the smaller one is for
};

/// Up to 128 KiB: above that, both give pages.
[[nodiscard]] inline block_size block_size_of(std::uint64_t size, rounding of) {
  using ashlar::detail::class_table;
  using ashlar::detail::standard_classes;
  if (size == 0 || of == rounding::unknown || !class_table::serves(size, 0)) return {};
  if (of == rounding::glibc) {
    // A chunk has a header of 8 bytes, and is a multiple of 16 bytes, 32 at least.
    const std::uint64_t chunk = std::max<std::uint64_t>((size + 8 + 15) / 16 * 16, 32);
    return chunk == 32 ? block_size{chunk, 0, 0} : block_size{chunk, chunk - 16, chunk - 24};
  }
  const auto of_class = standard_classes.of_size(size);
  if (of_class == 0) return {standard_classes.block_size(of_class), 0, 0};
  const std::uint64_t below =
      standard_classes.block_size(static_cast<ashlar::class_index>(of_class - 1));
  return {standard_classes.block_size(of_class), below, below};
}

/// Bytes of one piece that an arena or a growing pool takes from the heap, in all estimates.
inline constexpr std::uint64_t chunk_bytes = 64 * 1024;
/// A block is short-lived if its thread frees it before it called the allocator so often again. (A
/// temporary is freed by the very next call: that is a count, and this a loop that may be changed.)
inline constexpr std::uint64_t near_calls = 4;
/// Blocks die together if so many at least were there, and ...
inline constexpr std::uint64_t least_burst = 64;
/// ... while they died, the thread made at most a 20th as many new ones of any site.
inline constexpr std::uint64_t deaths_a_birth = 20;
/// The recorder looks at blocks of so many bytes or more, how much of them nobody touched.
inline constexpr std::uint64_t large_block = 64 * 1024;
using trace::looks_of_stack;
/// Sizes of one site that are told apart; the blocks of further ones have none.
inline constexpr std::size_t sizes_a_site = 16;

struct size_history {
  std::uint64_t size = 0;
  std::uint64_t births = 0;
  std::uint64_t blocks_at_peak = 0;
};

/// When blocks died together: which thread's, from its call to its call.
struct burst {
  std::uint32_t thread = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct site_history {
  rounding by = rounding::glibc;  ///< of the run's allocator
  std::uint64_t births = 0;
  std::uint64_t bytes = 0;  ///< of all births
  std::uint64_t most_live = 0;
  std::uint64_t blocks_at_peak = 0;
  std::uint64_t bytes_at_peak = 0;
  std::uint64_t short_lived = 0;  ///< births whose block died near, in its thread
  std::uint64_t handed_over = 0;  ///< births whose block another thread freed
  // A larger block that came in the place of one: by realloc, or the new one came, and the old one
  // was freed.
  std::uint64_t grown_by_realloc = 0;
  std::uint64_t grown_by_copy = 0;
  std::uint64_t outgrown_first = 0;  ///< of these: the block that was outgrown had not grown itself
  std::uint64_t outgrown_bytes = 0;  ///< of the blocks that were outgrown
  std::uint64_t replaced_by_smaller = 0;  ///< a copy that was no larger: so this is not growth
  std::uint64_t outgrown_at_peak = 0;  ///< bytes of a block whose copy was being made at the peak
  // Blocks that died together, all that the site had.
  std::uint64_t in_bursts = 0;
  std::uint64_t bursts = 0;
  std::uint64_t burst_chunks = 0;  ///< chunks that these blocks would have needed
  burst last_burst;
  // Large blocks that the recorder looked at, and those of which half or more is untouched.
  std::uint64_t looked_at = 0;
  std::uint64_t looked_at_bytes = 0;
  std::uint64_t hollow = 0;
  std::uint64_t largest_hollow = 0;   ///< bytes
  std::uint64_t untouched_bytes = 0;  ///< of the hollow ones, at least
  std::uint64_t untouched_at_peak =
      0;  ///< the same at the peak. Where not all were looked at, those stand for all
  std::vector<size_history> sizes;  ///< at most sizes_a_site, the first that were asked for
  std::uint32_t main_stack = site_table::no_stack;  ///< index of the stack with the most births
  std::uint64_t main_stack_births = 0;
};

/// What all sites have in common.
struct run_totals {
  std::uint64_t births = 0;
  std::uint64_t peak_bytes = 0;
};

/// Not thread-safe. Does not own the table.
class site_histories {
 public:
  site_histories(const site_table& sites, owned_by whom, rounding by);

  /// Effects: counts the step. Requires: each step of a trace, in order.
  void count(const trace::step& s);

  /// Returns: the histories by site. Complexity: O(sites and their sizes).
  [[nodiscard]] std::vector<site_history> histories() const;
  [[nodiscard]] run_totals totals() const { return {counts_.births, counts_.peak_bytes}; }

 private:
  // What is remembered of a block.
  struct block {
    std::uint64_t call = 0;   // of its thread's calls, the one that made it
    std::uint64_t order = 0;  // of all births
    std::uint64_t bytes = 0;
    std::uint32_t site = site_table::nobody;
    std::uint32_t growth = 0;  // how many blocks were outgrown before it
    std::uint32_t size_index = 0;
    bool has_size = false;
    bool was_looked_at = false;
  };
  struct thread_state {
    std::uint64_t calls = 0;
    std::uint64_t births = 0;
    // The last birth, while it may turn out to have outgrown another block.
    bool may_outgrow = false;
    block last_block;
    std::uint32_t last_slot = 0;
    std::uint64_t given_up_bytes = 0;  // by realloc, until the birth behind it
    std::uint32_t given_up_growth = 0;
  };
  // From a site's first birth to the death of its last block.
  struct generation {
    std::uint64_t births = 0;
    std::uint64_t bytes = 0;
    std::uint64_t first_death = 0;  // the thread's calls
    std::uint64_t births_then = 0;  // the thread's births at the first death
    std::uint32_t thread = 0;
    bool is_dying = false;
    bool is_mixed = false;  // births between deaths, or several threads
  };
  struct account {
    site_history history;
    std::uint64_t live = 0;
    block last_block;
    std::uint32_t last_slot = 0;
    std::uint64_t before_last = 0;  // the order of the birth before
    generation now;
    std::vector<std::size_t> size_counts;  // indices in size_blocks_
    // Of blocks that were looked at: those that lived at the peak that was the highest then.
    std::uint64_t looks_peak_order = 0;
    std::uint64_t looks_at_peak = 0;
  };

  void birth(const trace::step& s);
  void death(const trace::step& s);
  void look(const trace::step& s);
  void count_growth(thread_state& of, const trace::step& s, block& made, account& to);
  void count_copy(thread_state& by, const trace::step& s, const block& dead, account& of);
  void count_size(account& of, block& made, std::uint64_t size);
  static void end_generation(account& of, const thread_state& by);
  thread_state& thread(std::uint32_t number);
  void mark_peak();

  const site_table& sites_;
  owned_by whom_;
  rounding by_;
  trace::step_counts counts_;
  std::vector<account> accounts_;            // by site
  std::vector<std::uint64_t> stack_births_;  // by index of stack
  std::vector<block> blocks_;                // by slot
  std::unordered_map<std::uint32_t, thread_state> threads_;
  thread_state* last_thread_ = nullptr;
  std::uint32_t last_number_ = 0;
  std::uint64_t order_ = 0;
  trace::marked_counts live_blocks_;  // by site
  trace::marked_counts live_bytes_;
  trace::marked_counts large_blocks_;  // by site
  trace::marked_counts size_blocks_;   // by site and size
  // The block whose birth was the peak, and what it turned out to have outgrown.
  std::uint64_t peak_order_ = 0;
  std::uint32_t peak_site_ = site_table::nobody;
  std::uint64_t peak_outgrown_bytes_ = 0;
};

// The findings about call sites that hold more and more.

namespace thresholds {
/// Of the peak, in percent: a program that works on a large thing builds some part of it to its end.
inline constexpr std::uint64_t rising_percent = 10;
}  // namespace thresholds

/// Returns: a finding for each line that rose by 64 KiB at least. Call sites that differ in who
/// calls their line are one. A line is a leak if it rose by a hundredth of the peak, and at exit no
/// pointer leads to half of that; where nobody looked, if nearly nothing that it allocated was
/// freed. Else it is rising, by a tenth. A line that has a finding `growth` among the others grows
/// by these steps, as by realloc.
[[nodiscard]] std::vector<finding> rising_findings(const ashlar::sites::growing_sites& growing,
                                                   const run_totals& run,
                                                   const std::vector<finding>& others = {});

}  // namespace ashlar::findings
