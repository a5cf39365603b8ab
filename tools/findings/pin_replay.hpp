// tools/findings/pin_replay.hpp: what would be held if some blocks lay in pages of their own.
// Layer: findings.
//
//   recorded   |a  bb   |  b    a|   a    |        4 KiB pages with a live block: 3
//   replayed   |   bb   |  b     |        | aaa |  a's in a pool: 3, one of which is the pool's
//
// All other blocks stay where they were. The pool is a plain one: slabs of one block size, of 4 to
// 64 KiB, in which the slab that had a free block last is used first. A slab counts whole while a
// block of it lives.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tools/findings/page_table.hpp"
#include "tools/findings/pin_groups.hpp"
#include "tools/findings/run_course.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::findings {

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
  std::uint64_t held_pages = 0;  ///< as recorded, at that moment
  /// Then, if each block lay in a slab of its size class, as in ashlar's heap and others.
  std::uint64_t pages_by_class = 0;
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
    std::uint32_t class_slab = 0;
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
  pool_pages classes_;             // of all blocks
  std::vector<group_figures> figures_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::vector<pin_saving> least_;  // by group
  bool is_reached_ = false;        // the stretch
};

}  // namespace ashlar::findings
