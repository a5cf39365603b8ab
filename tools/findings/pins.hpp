// tools/findings/pins.hpp: the findings about pages that few live bytes keep. Layer: findings.
//
//   first pass    page_use: hollow pages at the worst moment, by site
//                 -> pin_groups: sites that lie together
//   second pass   a replay: what is saved if a group lies elsewhere -> findings
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "tools/findings/finding.hpp"
#include "tools/findings/heap_placement.hpp"
#include "tools/findings/page_use.hpp"
#include "tools/findings/site_table.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::findings {

// Call sites whose blocks lie together in hollow pages.
// A session is a structure, its name and its buffer: three sites, and a page is free only when all
// three have left it. So what would be moved is a group of sites.

struct pin_group {
  std::vector<std::uint32_t> sites;  ///< sorted
  std::uint64_t pages_alone = 0;     ///< hollow pages in which no other site has a block
};

inline constexpr std::size_t most_pin_groups = 4;
inline constexpr std::size_t most_sites_of_group = 8;

/// Returns: groups without a common site, the most pages first, those of `least_pages` alone at
/// least. A site joins a group if the group then holds a tenth more pages alone, for each site that
/// joins with it. Complexity: O(sets of holders), times a constant.
[[nodiscard]] std::vector<pin_group> pin_groups(const hollow_pages& of, std::uint64_t least_pages);

// What would be held if some blocks lay in pages of their own.
//   recorded   |a  bb   |  b    a|   a    |        4 KiB pages with a live block: 3
//   replayed   |   bb   |  b     |        | aaa |  a's in a pool: 3, one of which is the pool's
// All other blocks stay where they were. The pool is a plain one: slabs of one block size, of 4 to
// 64 KiB, in which the slab that had a free block last is used first. A slab counts whole while a
// block of it lives.

/// A pool's pages. Memory: an entry for each slab.
class pool_pages {
 public:
  /// Returns: the slab that has the block.
  std::uint32_t take(std::uint64_t size);
  void give(std::uint32_t slab);
  [[nodiscard]] std::uint64_t pages() const { return pages_; }

 private:
  struct slab {
    std::uint64_t block_bytes = 0;
    std::uint32_t pages = 0;
    std::uint32_t capacity = 0;
    std::uint32_t live = 0;
  };
  static slab shape_for(std::uint64_t size);

  std::vector<slab> slabs_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> with_room_;  // by block size
  std::uint64_t pages_ = 0;
};

/// Pages that leave, without those that come; may be below 0.
struct pin_saving {
  std::int64_t pages = 0;
  std::uint64_t held_pages = 0;  ///< without that, at that moment
};

struct group_figures {
  std::uint64_t births = 0;
  std::uint64_t live = 0;
  std::uint64_t most_live = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t bytes_at_peak = 0;  ///< of all live bytes
};

/// Not thread-safe. Does not own the sites. Memory: an entry for each page and each living block.
class pin_replay {
 public:
  /// `stretch`: the one of which the least saving counts.
  pin_replay(const stack_sites& sites, const std::vector<pin_group>& groups,
             const run_course& course, std::size_t stretch);

  /// Requires: each step of the trace that page_use saw, in order.
  void count(const trace::step& s);
  /// Returns: by group, the least saving in the stretch.
  [[nodiscard]] std::vector<pin_saving> least_in_stretch() const {
    return is_reached_ ? least_ : at_end();
  }
  /// Returns: by group, the saving now.
  [[nodiscard]] std::vector<pin_saving> at_end() const;
  /// Returns: by group, what its blocks did in the whole run.
  [[nodiscard]] const std::vector<group_figures>& figures() const { return figures_; }

 private:
  static constexpr std::size_t others = most_pin_groups;
  struct page {
    std::array<std::uint32_t, most_pin_groups + 1> blocks{};  // by group; behind them of no group
  };
  struct block {
    std::uint64_t address = 0;
    std::uint64_t taken = 0;
    std::uint32_t group = others;
    std::uint32_t slab = 0;
  };
  void birth(const trace::step& s);
  void death(const trace::step& s);
  static std::size_t only_group(const page& of);
  void change(const block& b, std::uint32_t by);
  void note();

  const stack_sites& sites_;
  std::unordered_map<std::uint32_t, std::uint32_t> group_of_;  // by site
  run_course course_;
  std::size_t stretch_;
  page_table table_;
  std::vector<page> pages_;
  std::vector<block> blocks_;  // by slot
  // By group: pages that no other block keeps. Behind them: none, and those of others.
  std::array<std::uint64_t, most_pin_groups + 2> only_{};
  std::uint64_t held_pages_ = 0;
  std::vector<pool_pages> pools_;  // by group
  std::vector<group_figures> figures_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::vector<pin_saving> least_;  // by group
  bool is_reached_ = false;        // the stretch
};

namespace thresholds {
inline constexpr std::uint64_t least_pinned = 1024 * 1024;  ///< that a finding saves
inline constexpr std::uint64_t pinned_percent = 10;         ///< the same, of the bytes in all pages
inline constexpr std::uint64_t other_callers_percent = 5;   ///< of a line's births
}  // namespace thresholds

/// What a line of the program pins at a moment.
struct pinned_line {
  trace::named_call line;
  std::uint32_t site = 0;  ///< as in page_change
  pin_figures figures;
  std::uint64_t pages_alone = 0;  ///< hollow pages that no other line has blocks in
};

/// Where blocks lie: where the trace says, or where ashlar's heap would have them.
enum class placed_by : bool { recorded, ashlar };

/// Not thread-safe. Does not own the table and the stacks.
class pin_finder {
 public:
  pin_finder(const std::vector<trace::stack_definition>& stacks, names_of_stack names_of,
             const site_table& sites, const run_course& course,
             placed_by where = placed_by::recorded);
  pin_finder(const pin_finder&) = delete;
  pin_finder& operator=(const pin_finder&) = delete;

  /// Requires: each step of the trace, in order.
  void count(const trace::step& s);
  /// Effects: gives `steps` of the same trace again to a function, if there is anything to verify.
  /// Requires: called once, behind all steps. Returns: the findings, each with the saving that the
  /// replay has shown.
  using each_step = std::function<void(const trace::step&)>;
  std::vector<finding> findings(const std::function<void(const each_step&)>& again);

  [[nodiscard]] const page_use& use() const { return use_; }
  [[nodiscard]] placed_by where() const { return where_; }
  /// Returns: the moment that is told of: the worst one, else the end.
  [[nodiscard]] const hollow_pages& told() const {
    return use_.worst() ? *use_.worst() : use_.at_end();
  }
  /// Returns: the line of a page's holder, an index for pinned_line::site; nobody: it has none.
  [[nodiscard]] std::uint32_t line_of(std::uint32_t fine) const {
    return fine < line_of_.size() ? line_of_[fine] : stack_sites::nobody;
  }
  [[nodiscard]] const trace::named_call& call_of(std::uint32_t line) const {
    const site& at = table_.sites(owned_by::first_own_call)[line];
    return at.calls[at.first_own];
  }
  /// Returns: by line, the most pinned bytes first. What is no line's is left out.
  [[nodiscard]] std::vector<pinned_line> lines(const hollow_pages& at) const;

 private:
  [[nodiscard]] const site& named(std::uint32_t fine) const;
  [[nodiscard]] bool has_other_callers(std::uint32_t line, const pin_group& group) const;
  finding begun(const pin_group& group) const;

  const std::vector<trace::stack_definition>& stacks_;
  names_of_stack names_of_;
  const site_table& table_;
  run_course course_;
  // A site here is a line with its caller, and behind these are lines without one.
  stack_sites fine_sites_;
  std::vector<std::uint32_t> line_of_;  // by fine site
  page_use use_;
  placed_by where_;
  heap_placement heap_;
  std::unordered_map<std::uint32_t, std::uint64_t> births_;  // by stack
};

}  // namespace ashlar::findings
