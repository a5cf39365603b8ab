// tools/findings/page_use.hpp: which pages few live bytes keep, and whose they are, by the recorded
// addresses. Layer: findings.
//
//   page    |aaaaaaaa|aab     |        |  a     |b       |      a, b: blocks of two call sites
//            in use   in use   free     hollow, by a alone; by b alone
//
// Law: a hollow page was half full at least since it was last empty, and less than a quarter of it
// lives. Its other bytes are pinned. They are shared among the blocks in it by their bytes, so
// pinned bytes of all stacks add up to those of all pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/trace/address_map.hpp"
#include "tools/trace/lifetimes.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::findings {

// Pages of 4 KiB by address, as small dense numbers.
//   block   |......|   |...............|   |........ more than 128 KiB ........|
//   page    | 0 | 1 | 2 | 3 | ...          | first |    not looked at   | last |
// A large block is mostly a mapping of its own, and no other block lies in its inner pages. So a
// block costs at most 33 pages, however large it is.

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint64_t large_for_pages = 128 * 1024;

/// Returns: the bytes that a block takes up, where the allocator's own are not known: those of
/// glibc's malloc.
constexpr std::uint64_t bytes_taken(std::uint64_t size) {
  // Without overflow: a damaged trace may say anything.
  return (std::clamp<std::uint64_t>(size, 1, std::uint64_t{1} << 47) + 15) / 16 * 16;
}

/// Returns: an address with which no sum runs over.
constexpr std::uint64_t plain_address(std::uint64_t address) {
  return address & ((std::uint64_t{1} << 57) - 1);
}

/// Memory: an entry for each page in which a block ever began or ended, or that lay in a small one.
class page_table {
 public:
  /// Returns: the page's index, 0, 1, ... in the order of first use.
  std::uint32_t of(std::uint64_t number) {
    if (last_ < numbers_.size() && numbers_[last_] == number) return last_;
    const auto at = places_.find(number, [&](std::uint32_t i) { return numbers_[i] == number; });
    last_ = at.slot;
    if (at.slot == trace::address_map::none) {
      last_ = static_cast<std::uint32_t>(numbers_.size());
      places_.insert(at, number, last_);
      numbers_.push_back(number);
    }
    return last_;
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] std::uint64_t number(std::uint32_t page) const { return numbers_[page]; }

  /// Effects: calls `what(index, bytes)` for each page of a block and the block's bytes in it.
  template <class What>
  void for_each_page(std::uint64_t address, std::uint64_t taken, const What& what) {
    const std::uint64_t end = address + taken;
    const std::uint64_t first = address / page_bytes;
    const std::uint64_t last = (end - 1) / page_bytes;
    for (std::uint64_t number = first; number <= last; ++number) {
      if (taken > large_for_pages && number == first + 1) number = last;
      const std::uint64_t begin = std::max(address, number * page_bytes);
      what(of(number),
           static_cast<std::uint32_t>(std::min(end, (number + 1) * page_bytes) - begin));
    }
  }
  /// Returns: pages of a block that are not looked at.
  [[nodiscard]] static std::uint64_t inner_pages(std::uint64_t address, std::uint64_t taken) {
    if (taken <= large_for_pages) return 0;
    return (address + taken - 1) / page_bytes - address / page_bytes - 1;
  }

 private:
  trace::address_map places_;
  std::vector<std::uint64_t> numbers_;
  std::uint32_t last_ = 0;
};

// How far a run is, in stretches.

/// Cuts a run into stretches of one length, half by time and half by calls of the allocator: so a
/// minute in which a service waits counts, and a million calls in a second do.
class run_course {
 public:
  static constexpr std::size_t stretches = 50;

  run_course(std::pair<std::uint64_t, std::uint64_t> times, std::uint64_t events)
      : first_(times.first),
        length_(static_cast<double>(times.second - std::min(times.first, times.second))),
        events_(std::max<std::uint64_t>(events, 1)) {}
  explicit run_course(const trace::trace_reader& of) : run_course(of.times(), of.events()) {}

  [[nodiscard]] std::uint64_t events() const { return events_; }

  /// Returns: the stretch of the next step, which is at `time`. It never goes back.
  std::size_t next(std::uint64_t time) {
    const double by_calls = static_cast<double>(steps_++) / static_cast<double>(events_);
    const double passed = time > first_ ? static_cast<double>(time - first_) : 0;
    const double by_time = length_ > 0 ? passed / length_ : by_calls;
    const auto at = static_cast<std::size_t>((by_calls + by_time) / 2 * stretches);
    return now_ = std::clamp(at, now_, stretches - 1);
  }

 private:
  std::uint64_t first_;
  double length_;
  std::uint64_t events_;
  std::uint64_t steps_ = 0;
  std::size_t now_ = 0;
};

/// The heap's pages at the end of a stretch of the run.
struct page_moment {
  std::uint64_t time = 0;  ///< ticks
  std::uint64_t live_bytes = 0;
  std::uint64_t held_pages = 0;  ///< with a live byte at least
  std::uint64_t hollow_pages = 0;
  std::uint64_t pinned_bytes = 0;  ///< of hollow pages, those that do not live
};

/// What the blocks of a stack or a site keep.
struct pin_figures {
  std::uint64_t pinned_bytes = 0;  ///< their share in hollow pages
  std::uint64_t live_bytes = 0;    ///< of theirs, in hollow pages
  std::uint64_t blocks = 0;        ///< that begin in one
};

/// Hollow pages by the sites that have blocks there; of more than `most` sites none is named.
struct page_holders {
  static constexpr std::size_t most = 4;
  std::vector<std::uint32_t> sites;  ///< sorted
  friend auto operator<=>(const page_holders&, const page_holders&) = default;
};
struct held_pages {
  std::uint64_t pages = 0;
  std::uint64_t pinned_bytes = 0;
};

/// The hollow pages of one moment.
struct hollow_pages {
  std::size_t stretch = 0;  ///< whose end it is
  bool is_end = false;      ///< of the run
  /// Pinned bytes that stayed so throughout the stretch; at the end of the run: those that there
  /// are.
  std::uint64_t kept_bytes = 0;
  page_moment figures;
  std::unordered_map<std::uint32_t, pin_figures> by_stack;  ///< by number
  std::map<page_holders, held_pages> by_holders;
};

/// A page's state in the picture: free, in use, hollow by several sites, or by a site: its index +
/// held_by.
struct page_change {
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t in_use = 1;
  static constexpr std::uint32_t held_by_several = 2;
  static constexpr std::uint32_t held_by = 3;
  std::uint32_t page = 0;
  std::uint32_t state = free;
};

/// Which site a stack's blocks are of; `nobody` is a site, too.
class stack_sites {
 public:
  static constexpr std::uint32_t nobody = UINT32_MAX - page_change::held_by;
  void set(std::uint32_t stack, std::uint32_t site) { sites_[stack] = site; }
  [[nodiscard]] std::uint32_t of(std::uint32_t stack) const {
    const auto found = sites_.find(stack);
    return found == sites_.end() ? nobody : found->second;
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> sites_;
};

/// Not thread-safe. Does not own the sites.
/// Memory: an entry for each page of page_table and each living block, and one for each stretch in
/// which a page's state changed. Complexity: O(1) a step (at most 33 pages), and O(pages + living
/// blocks) at the end of each of the 50 stretches.
class page_use {
 public:
  page_use(const stack_sites& sites, const run_course& course) : sites_(sites), course_(course) {}

  /// Effects: counts the step. Requires: each step of a trace, in order.
  void count(const trace::step& s);
  /// Requires: called once, behind all steps.
  void close();

  [[nodiscard]] const std::vector<page_moment>& moments() const { return moments_; }
  /// Returns: what is pinned at the moment at which most was so for a while: throughout a stretch
  /// in which the blocks became fewer by a tenth and by a 200th of the run's calls at most, or at
  /// the end. Moments count from the last one on at which three quarters of the peak lived: before,
  /// the memory was needed again. Null: nothing is.
  [[nodiscard]] const std::optional<hollow_pages>& worst() const { return worst_; }
  [[nodiscard]] const hollow_pages& at_end() const { return at_end_; }
  [[nodiscard]] const page_table& pages() const { return table_; }
  /// Of each moment the pages that have another state than at the one before.
  [[nodiscard]] const std::vector<std::vector<page_change>>& changes() const { return changes_; }

 private:
  struct page {
    std::uint32_t live = 0;  // bytes
    std::uint32_t most = 0;  // since it was last empty
    [[nodiscard]] bool is_hollow() const {
      return live != 0 && live * 4 < page_bytes && most * 2 >= page_bytes;
    }
    [[nodiscard]] std::uint64_t pinned() const { return is_hollow() ? page_bytes - live : 0; }
  };
  struct block {
    std::uint64_t address = 0;
    std::uint64_t taken = 0;  // 0: it does not live
    std::uint32_t stack = 0;
  };
  struct hollow {
    std::uint64_t live_left = 0;
    std::uint64_t pinned_left = 0;
    page_holders holders;
  };
  void change(const block& b, bool is_birth);
  void close_stretch();
  hollow_pages sweep();
  void share(const block& b, std::vector<hollow>& all, hollow_pages& to);
  void note_changes(const std::vector<hollow>& all);

  const stack_sites& sites_;
  run_course course_;
  page_table table_;
  std::vector<page> pages_;             // by index
  std::vector<std::uint32_t> hollows_;  // by page, during a sweep
  std::vector<std::uint32_t> shown_;    // the page's last state in changes_
  std::vector<block> blocks_;           // by slot
  page_moment now_;
  std::uint64_t live_blocks_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t begin_blocks_ = 0;  // at the stretch's begin
  std::uint64_t least_pinned_ = 0;  // in it
  std::vector<page_moment> moments_;
  std::vector<std::vector<page_change>> changes_;
  std::optional<hollow_pages> worst_;
  hollow_pages at_end_;
};

}  // namespace ashlar::findings
