// pages/range_set.hpp: all ranges of a heap: finding one by address, fresh pages, a new one when
// needed.
// Layer: pages.
//
// The first gap is made for the machine: large enough that it is nearly always the only one. Free's
// hit path looks into the ranges in its windows (page_range.hpp), and these live as long as the
// heap. Its length costs nothing but the class table: four bytes of addresses for each page of the
// first window, and more once a heap needs the others. Later ranges serve what does not fit it; one
// of them that becomes empty is given back, so that where addresses are scarce they are there for
// the next block. Records of all but the first range have a reservation of their own: a heap with
// one range is 40 KiB smaller for that.
// Thread-safety: none but for the first tables and the ranges that they tell of, whose places never
// change; the page heap locks.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/block_tables.hpp>
#include <ashlar/pages/page_range.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// How many ranges a heap may have and the least that one is: as the space says (where ranges are
/// pieces of somebody's memory, or there are many small heaps), else for a heap as large as the
/// machine.
template <class Space>
inline constexpr std::uint32_t ranges_max_of = 64;
template <class Space>
  requires requires { Space::ranges_max; }
inline constexpr std::uint32_t ranges_max_of<Space> = Space::ranges_max;
template <class Space>
inline constexpr std::size_t range_bytes_min_of = std::size_t{1} << 20;
template <class Space>
  requires requires { Space::range_bytes_min; }
inline constexpr std::size_t range_bytes_min_of<Space> = Space::range_bytes_min;

template <address_space Space>
class range_set {
 public:
  explicit constexpr range_set(Space& space) noexcept : space_(space) {}
  range_set(const range_set&) = delete;
  range_set& operator=(const range_set&) = delete;

  /// Effects: reserves the first range, once; each will have room for so many words of bitmaps a
  /// page. The first gap has `extra_bytes` more. Returns: false when the system refuses.
  [[nodiscard]] bool start(std::size_t bit_words_per_page, std::size_t extra_bytes = 0) noexcept {
    bit_words_per_page_ = bit_words_per_page;
    extra_bytes_ = extra_bytes;
    return count() != 0 || add(1, ground::gap) != nullptr || add(1, ground::reserved) != nullptr;
  }

  /// Returns: the tables of the first range and of all in the same gap. Only their end changes:
  /// it grows. Requires: it has started.
  [[nodiscard]] block_tables first_tables() const noexcept {
    block_tables tables = first_.tables;
    tables.end = told_.load(std::memory_order_acquire);
    return tables;
  }
  /// Returns: whether the first tables tell of every range. Any thread may ask about a block that
  /// it has.
  [[nodiscard]] bool first_tables_tell_all() const noexcept {
    return others_.load(std::memory_order_relaxed) == 0;
  }
  /// Returns: the range that the first tables tell of and whose addresses hold `address`, or null.
  [[nodiscard]] const page_range* first_if_holds(std::uintptr_t address) const noexcept {
    return first_.page_of(address) < first_.pages ? &first_ : window_if_holds(address);
  }
  /// Returns: whether `range` stays until release_all.
  [[nodiscard]] bool is_lasting(const page_range& range) const noexcept {
    return range.number == 0 || range.tables.origin == first_.tables.origin;
  }
  /// Returns: where the first gap has its extra bytes, to be claimed there; null without a gap.
  [[nodiscard]] void* extra() const noexcept { return first_.extra(); }

  /// Returns: the range that holds `address`, or null. O(ranges).
  [[nodiscard]] const page_range* find(std::uintptr_t address) const noexcept {
    for (std::uint32_t i = 0; i < count(); ++i)
      if ((*this)[i].contains(address)) return &(*this)[i];
    return nullptr;
  }

  /// Requires: i < count().
  [[nodiscard]] page_range& operator[](std::uint32_t i) noexcept {
    if (i == 0) return first_;
    // There are records where there are later ranges.
    if (later_ == nullptr) __builtin_unreachable();
    return later_[i - 1];
  }
  [[nodiscard]] const page_range& operator[](std::uint32_t i) const noexcept {
    return const_cast<range_set&>(*this)[i];
  }
  [[nodiscard]] std::uint32_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }

  /// Returns: a run of `pages` that were never used, of no kind yet; null when memory was refused.
  [[nodiscard]] run* take_fresh(std::size_t pages) noexcept {
    if (run* r = take_fresh_here(pages); r != nullptr) return r;
    if (page_range* const added = add_window(pages); added != nullptr)
      if (run* r = extend(*added, pages); r != nullptr) return r;
    // A gap may turn out to be somebody's, or too small; what is reserved is nobody else's.
    for (const ground from : {ground::gap, ground::reserved}) {
      page_range* const added = add(pages, from);
      if (added == nullptr) continue;
      if (run* r = extend(*added, pages); r != nullptr) return r;
      release(*added);
    }
    return nullptr;
  }

  /// As `take_fresh`, in the ranges that there are.
  [[nodiscard]] run* take_fresh_here(std::size_t pages) noexcept {
    for (std::uint32_t i = count(); i-- != 0;) {
      page_range& range = (*this)[i];
      if (pages > range.pages - range.top) continue;
      if (run* r = extend(range, pages); r != nullptr) return r;
    }
    return nullptr;
  }

  /// Effects: gives every range back. Requires: nobody uses one any more, nor ever will.
  void release_all() noexcept {
    for (std::uint32_t i = count(); i-- != 0;)
      if ((*this)[i].pages != 0) (*this)[i].release(space_);
    set_count(0);
    for (auto& window : windows_) window.store(nullptr, std::memory_order_relaxed);
    told_.store(0, std::memory_order_relaxed);
    others_.store(0, std::memory_order_relaxed);
    drop_unused_records();
  }

  /// Effects: gives a later range back. Requires: nothing of it is in use or listed anywhere; it is
  /// not lasting.
  void release(page_range& range) noexcept {
    range.release(space_);
    others_.fetch_sub(1, std::memory_order_relaxed);
    std::uint32_t count = this->count();
    while (count != 0 && (*this)[count - 1].pages == 0) --count;
    set_count(count);
    drop_unused_records();
  }

  /// Effects: from now on every block has a slack entry (page_range). Returns: false if refused.
  [[nodiscard]] bool keep_slack() noexcept {
    for (std::uint32_t i = 0; i < count(); ++i)
      if ((*this)[i].pages != 0 && !(*this)[i].keep_slack(space_)) return false;
    keep_slack_ = true;
    return true;
  }

  /// Returns: bytes of addresses that the ranges and their tables have, and the records of them.
  [[nodiscard]] std::size_t reserved_bytes() const noexcept {
    std::size_t bytes = later_ != nullptr ? later_bytes : 0;
    for (std::uint32_t i = 0; i < count(); ++i) bytes += (*this)[i].reserved_bytes();
    return bytes;
  }

 private:
  friend struct heap_layout;  // tells where the members are
  /// As `first_if_holds`, of all windows but the first.
  [[nodiscard]] ASHLAR_COLD const page_range* window_if_holds(
      std::uintptr_t address) const noexcept {
    for (const auto& window : windows_) {
      const page_range* const range = window.load(std::memory_order_acquire);
      if (range != nullptr && range->page_of(address) < range->pages) return range;
    }
    return nullptr;
  }
  static constexpr std::uint32_t ranges_max = ranges_max_of<Space>;
  /// Returns: `n` GiB, but 1 GiB where a process has no more than 4.
  static constexpr std::size_t gib(std::size_t n) noexcept {
    return (sizeof(void*) == 8 ? n : 1) << 30;
  }

  // In a gap: twice the machine, for blocks are scattered and need addresses side by side.
  static constexpr std::size_t first_gap_min = gib(16);
  static constexpr std::size_t first_gap_max = gib(256);
  static constexpr std::size_t gap_min = std::size_t{64} << 20;
  // Reserved.
  static constexpr std::size_t first_bytes_max = std::size_t{sizeof(void*) == 8 ? 64 : 512} << 20;
  static constexpr std::size_t later_bytes_min = std::size_t{64} << 20;
  static constexpr std::size_t later_bytes_max = gib(64);
  static constexpr std::uint32_t later_doublings =
      static_cast<std::uint32_t>(std::countr_zero(later_bytes_max / later_bytes_min));
  static constexpr std::size_t least_bytes = range_bytes_min_of<Space>;
  /// Page numbers and run lengths are 32 bits. Where addresses are, too, half of them is more than
  /// anybody gets.
  static constexpr std::size_t most_bytes =
      sizeof(void*) == 8 ? std::size_t{UINT32_MAX / 2} << page_shift : SIZE_MAX / 2 + 1;

  [[nodiscard]] run* extend(page_range& range, std::size_t pages) noexcept {
    const std::size_t first = range.top;
    if (!range.extend(space_, pages)) return nullptr;
    run* r = range.new_run(space_);
    if (r == nullptr) {
      range.top = first;
      return nullptr;
    }
    r->first = static_cast<std::uint32_t>(first);
    r->pages = static_cast<std::uint32_t>(pages);
    return r;
  }

  void set_count(std::uint32_t count) noexcept { count_.store(count, std::memory_order_relaxed); }

  /// Returns: how many bytes of addresses a later range should have where there are enough.
  [[nodiscard]] std::size_t later_bytes_wanted() const noexcept {
    return later_bytes_min << std::min(count(), later_doublings);
  }

  /// Returns: how many bytes the next range should have in a gap.
  [[nodiscard]] std::size_t gap_bytes_wanted(bool first) const noexcept {
    const std::size_t bytes =
        first ? std::max(std::bit_ceil(std::min(space_.physical(), first_gap_max / 2)) * 2,
                         first_gap_min)
              : later_bytes_wanted();
    // More addresses than the process may use need no class table.
    const std::size_t limit = space_.limit();
    return limit < bytes ? std::bit_ceil(limit) : bytes;
  }

  /// Returns: how many bytes of addresses the next range should reserve, if the system agrees.
  [[nodiscard]] std::size_t reserved_bytes_wanted(bool first) const noexcept {
    std::size_t bytes = first ? first_bytes_max : later_bytes_wanted();
    // Where addresses are limited, the rest of the program needs some too.
    const std::size_t limit = space_.limit();
    if (limit != SIZE_MAX) bytes = std::min(bytes, std::bit_floor(limit / (first ? 4 : 8) | 1));
    // Counting needs a table of an eighth of the range beside it, so it asks for less.
    return keep_slack_ ? bytes / 8 : bytes;
  }

  /// Effects: the range gets addresses for `needed` bytes or more. Returns: false when the system
  /// refuses even just those.
  [[nodiscard]] bool obtain(page_range& range, ground from, std::size_t needed,
                            std::uint8_t number) noexcept {
    const bool first = number == 0;
    if (from == ground::gap) {
      const std::size_t wanted = gap_bytes_wanted(first);
      const std::size_t least = std::max(std::min(gap_min, wanted), needed) >> page_shift;
      return range.open(space_, wanted >> page_shift, least, bit_words_per_page_,
                        first ? extra_bytes_ : 0, number);
    }
    std::size_t bytes =
        std::min(align_up(std::max(reserved_bytes_wanted(first), needed), least_bytes),
                 std::max(needed, most_bytes / 2));
    while (!range.reserve(space_, bytes >> page_shift, bit_words_per_page_, number)) {
      if (bytes == needed) return false;
      bytes = std::max(align_down(bytes / 2, least_bytes), needed);
    }
    return true;
  }

  /// Returns: a new range that holds `pages`, null when it cannot be had.
  [[nodiscard]] page_range* add(std::size_t pages, ground from) noexcept {
    if (pages > most_bytes >> page_shift) return nullptr;
    const std::size_t needed = align_up(pages << page_shift, least_bytes);
    page_range* const range =
        add_by([&](page_range& r, std::uint8_t number) { return obtain(r, from, needed, number); });
    if (range == &first_)
      told_.store(first_.tables.end, std::memory_order_release);
    else if (range != nullptr)
      others_.fetch_add(1, std::memory_order_relaxed);
    return range;
  }
  /// Returns: the range of the next window of the first gap that holds `pages`; null when there is
  /// none, or it cannot be had.
  [[nodiscard]] page_range* add_window(std::size_t pages) noexcept {
    for (unsigned w = 1; w < gap_windows::count; ++w) {
      auto& window = windows_[w - 1];
      if (window.load(std::memory_order_relaxed) != nullptr || first_.window_pages(w) < pages ||
          pages == 0)
        continue;
      const std::size_t told = told_.load(std::memory_order_relaxed);
      page_range* const range = add_by([&](page_range& r, std::uint8_t number) {
        return r.open_window(space_, first_, w, told, number);
      });
      if (range == nullptr) return nullptr;
      window.store(range, std::memory_order_release);
      told_.store(std::max(told, range->tables.end), std::memory_order_release);
      return range;
    }
    return nullptr;
  }

  /// Returns: a new range for which get(range, number) is true; null if it is not.
  template <class Get>
  [[nodiscard]] page_range* add_by(Get get) noexcept {
    std::uint32_t i = 0;
    while (i < count() && (*this)[i].pages != 0) ++i;
    if (i == ranges_max || (i != 0 && !have_later_records())) return nullptr;
    page_range& range = (*this)[i];
    bool done = get(range, static_cast<std::uint8_t>(i));
    if (done && keep_slack_ && !range.keep_slack(space_)) {
      range.release(space_);
      done = false;
    }
    if (!done) {
      drop_unused_records();
      return nullptr;
    }
    set_count(std::max(count(), i + 1));
    return &range;
  }

  /// Effects: the later ranges have records, all of them empty if they had none. Returns: false
  /// when memory was refused.
  [[nodiscard]] bool have_later_records() noexcept {
    if (later_ != nullptr) return true;
    // Zeros are a record of no range.
    later_ = static_cast<page_range*>(map_zeros(space_, later_bytes));
    return later_ != nullptr;
  }
  void drop_unused_records() noexcept {
    if (count() > 1 || later_ == nullptr) return;
    space_.release(later_, later_bytes);
    later_ = nullptr;
  }

  static constexpr std::size_t later_bytes =
      align_up((ranges_max - 1) * sizeof(page_range), page_size);

  Space& space_;
  /// Slots that may be taken; a slot with 0 pages is not. Written under the lock.
  std::atomic<std::uint32_t> count_{0};
  bool keep_slack_ = false;
  std::size_t bit_words_per_page_ = 0;
  std::size_t extra_bytes_ = 0;
  page_range first_;
  /// Of the first gap's windows but the first. And how many bytes behind the origin the class table
  /// tells of.
  std::atomic<page_range*> windows_[gap_windows::count == 1 ? 1 : gap_windows::count - 1] = {};
  std::atomic<std::size_t> told_{0};
  std::atomic<std::uint32_t> others_{0};  ///< ranges that the first tables do not tell of
  page_range* later_ = nullptr;  ///< ranges_max - 1 records while there is a later range, else null
};

}  // namespace ashlar::detail
