// pages/page_range.hpp: one range of addresses and the tables that say what each page is.
// Layer: pages.
//
//   addresses  | committed, cut into runs            | committed | nothing yet ...         |
//              base                                  top       commit_end                pages
//   tables, one entry a page:
//   class_of   class of the slab that the page is in, and the length of its windows; 0 when it is
//              in none (large, free, beyond top)
//   run_of     number of the page's run: every page of a slab, the first of a large block, the
//              first and last of a free run; elsewhere it is stale, so a reader compares run.first
//   runs       the records; bits: the slabs' bitmaps, both handed out in order and recycled
//   marks      which blocks are out of their slabs (block_sign.hpp): four tables, up to the last
//              slab that uses each
//   slack      only while every call is counted
//
// A range has its addresses in one of two ways:
//   in a gap   only what is committed is mapped, the rest is nobody's. When somebody else has
//              mapped what comes next, the range is as good as full. class_of is mapped whole, for
//              all pages: free's hit reads it for any address below `pages`. A gap has up to three
//              ranges, in windows that share the tables which a hit reads (gap_windows).
//   reserved   whole, at once, where there is no gap or the range is small; and so are the tables
//
// Invariant: top <= commit_end <= pages. Pages in [top, commit_end) were never used: they are zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/block_sign.hpp>
#include <ashlar/pages/block_tables.hpp>
#include <ashlar/pages/grown_table.hpp>
#include <ashlar/pages/range_layout.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// Returns: a number that nobody can know beforehand, if the space has such; else 0.
template <class Space>
[[nodiscard]] std::uint64_t entropy_of(Space& space) noexcept {
  if constexpr (requires { space.entropy(); })
    return space.entropy();
  else
    return 0;
}

class page_range {
 public:
  /// Effects: finds a gap for `page_count` pages and their tables, with so many words of bitmaps a
  /// page, and for `extra_bytes` that others use; for fewer pages where gaps are smaller. The range
  /// has those of the first window, and takes the first of them. Returns: false when the gap cannot
  /// have as many as `least`.
  template <address_space Space>
  [[nodiscard]] bool open(Space& space, std::size_t page_count, std::size_t least,
                          std::size_t bit_words, std::size_t extra_bytes,
                          std::uint8_t index) noexcept {
    // Where the system maps a page tells where it maps, and is as random as the system is.
    void* const near = space.reserve(page_size);
    if (near == nullptr) return false;
    const std::uint64_t entropy = entropy_of(space);
    const auto windows_of = [&](std::size_t count) {
      return index == 0 ? gap_windows(count) : gap_windows::one(count);
    };
    const auto bytes_for = [&](std::size_t count) {
      return gap_layout(windows_of(count), bit_words, extra_bytes).end +
             gap_spare(count) * (entropy != 0 ? 2 : 1);
    };
    std::size_t gap_bytes = bytes_for(page_count);
    void* const gap = space.find_gap(near, gap_bytes);
    space.release(near, page_size);
    if (gap == nullptr) return false;
    while (page_count >= least && bytes_for(page_count) > gap_bytes) page_count -= page_count / 16;
    page_count = align_down(page_count, page_size / sizeof(page_class));
    if (page_count < least) {
      space.leave_gap(gap);
      return false;
    }
    const auto somewhere = [&](std::uint64_t choice) {
      const std::size_t most = gap_spare(page_count) - huge_page;
      return align_down(static_cast<std::size_t>(choice % (most + 1)), huge_page);
    };
    windows_ = windows_of(page_count);
    const gap_layout at(windows_, bit_words, extra_bytes);
    gap_ = gap;
    gap_tables_ = align_up(reinterpret_cast<std::uintptr_t>(gap), huge_page) +
                  somewhere(entropy != 0 ? entropy >> 32 << page_shift
                                         : reinterpret_cast<std::uintptr_t>(near));
    extra_ = reinterpret_cast<void*>(gap_tables_ + at.extra);
    base = gap_tables_ + at.blocks +
           (entropy != 0 ? somewhere((entropy & UINT32_MAX) << page_shift) : 0);
    const auto* const classes = reinterpret_cast<page_class*>(gap_tables_) + (windows_.begin(0));
    return open_here(space, 0, bit_words, index,
                     tables_placed(base, windows_.pages[0] << page_shift, classes,
                                   reinterpret_cast<void*>(gap_tables_ + at.marks)),
                     0, at.tables[0]);
  }
  /// Effects: the range has window `w` of the gap of `first`, whose class table tells of all before
  /// `told` by now, and tells of the window from now on. Returns: false when memory was refused.
  template <address_space Space>
  [[nodiscard]] bool open_window(Space& space, const page_range& first, unsigned w,
                                 std::size_t told, std::uint8_t index) noexcept {
    windows_ = first.windows_;
    gap_tables_ = first.gap_tables_;
    base = first.tables.origin + (windows_.begin(w) << page_shift);
    block_tables shared = first.tables;
    shared.end = windows_.end(w) << page_shift;
    const gap_layout at(windows_, first.bit_words_per_page_, 0);
    return open_here(space, w, first.bit_words_per_page_, index, shared, told, at.tables[w]);
  }
  /// Returns: pages of window `w` of the gap; 0 if there is none.
  [[nodiscard]] std::size_t window_pages(unsigned w) const noexcept { return windows_.pages[w]; }
  /// Returns: where the `extra_bytes` of a range in a gap are, to be claimed there; else null.
  [[nodiscard]] void* extra() const noexcept { return extra_; }

  /// Effects: reserves `page_count` pages and their tables, with so many words of bitmaps a page.
  /// Returns: false when that was refused.
  template <address_space Space>
  [[nodiscard]] bool reserve(Space& space, std::size_t page_count, std::size_t bit_words,
                             std::uint8_t index) noexcept {
    const std::size_t class_bytes = 2 * class_table_bytes(page_count);
    const table_layout at(page_count, bit_words);
    const std::size_t table_bytes = class_bytes + at.end + marks_bytes(page_count * page_size);
    if (!reserve_addresses(space, page_count * page_size)) return false;
    auto* classes = static_cast<char*>(space.reserve_zeros(table_bytes));
    if (classes == nullptr) {
      space.release(reserved_, reserved_addresses_);
      *this = page_range{};
      return false;
    }
    char* const begin_of_tables = classes + class_bytes;
    base = align_up(reinterpret_cast<std::uintptr_t>(reserved_), page_size);
    pages = page_count;
    bit_words_per_page_ = bit_words;
    table_reservation_ = classes;
    table_reservation = table_bytes;
    number = index;
    class_of.place(classes + class_table_bytes(page_count), ground::reserved);
    run_of.place(begin_of_tables, ground::reserved);
    bits.place(begin_of_tables + at.bits, ground::reserved);
    runs.place(begin_of_tables + at.runs, ground::reserved);
    place_marks(
        tables_placed(base, pages << page_shift, class_of.entries(), begin_of_tables + at.end),
        ground::reserved);
    return true;
  }

  /// Effects: gives everything back; the object is as new. Requires: nothing of the range is in
  /// use.
  template <address_space Space>
  void release(Space& space) noexcept {
    if (is_in_gap()) {
      const auto give_back = [&space](void* p, std::size_t bytes) {
        if (bytes != 0) space.release(p, bytes);
      };
      give_back(reinterpret_cast<void*>(base), commit_end << page_shift);
      give_back(run_of.entries(), run_of.committed_bytes());
      give_back(bits.entries(), bits.committed_bytes());
      give_back(runs.entries(), runs.committed_bytes());
      give_back(slack.entries(), slack.committed_bytes());
      for (const auto& of_shift : marks) give_back(of_shift.entries(), of_shift.committed_bytes());
      give_back(table_reservation_, table_reservation);
      if (gap_ != nullptr) space.leave_gap(gap_);
    } else {
      space.release(reserved_, reserved_addresses_);
      if (slack.entries() != nullptr) space.release(slack.entries(), slack_bytes(pages));
      space.release(table_reservation_, table_reservation);
    }
    *this = page_range{};
  }

  /// Returns: whether the range has memory at `address`, in use or not.
  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return ((address - base) >> page_shift) < commit_end;
  }
  [[nodiscard]] std::size_t page_of(std::uintptr_t address) const noexcept {
    return (address - base) >> page_shift;
  }
  [[nodiscard]] std::uintptr_t address_of(std::size_t page) const noexcept {
    return base + (page << page_shift);
  }

  /// Returns: the run that starts at, or whose slab covers, page `page`; null when the table entry
  /// is stale. A free run is found by its first and last page only.
  [[nodiscard]] run* run_at(std::size_t page) const noexcept {
    if (page >= top) return nullptr;
    run* found = runs.entries() + run_of.entries()[page];
    const bool covers = found->kind != run_kind::unused && found->first <= page &&
                        page - found->first < found->pages;
    return covers ? found : nullptr;
  }

  void note_ends(const run& r) noexcept {
    const auto id = id_of(r);
    run_of.entries()[r.first] = id;
    run_of.entries()[r.first + r.pages - 1] = id;
  }
  /// Effects: the first `own_pages` pages of the slab are its class's, with windows of this length;
  /// all of them are the slab's.
  void note_slab(const run& r, std::size_t own_pages, std::uint8_t mark_shift) noexcept {
    std::fill_n(run_of.entries() + r.first, r.pages, id_of(r));
    std::fill_n(class_of.entries() + r.first, own_pages, page_class{r.size_class, mark_shift});
  }
  void forget_slab(const run& r) noexcept {
    std::fill_n(class_of.entries() + r.first, r.pages, page_class{});
  }

  /// Effects: moves `top` up by `count` pages, committing memory and tables. Returns: false, with
  /// nothing changed for the caller, when the range is full or memory was refused.
  template <address_space Space>
  [[nodiscard]] bool extend(Space& space, std::size_t count) noexcept {
    if (count > pages - top) return false;
    const std::size_t wanted = top + count;
    if (wanted > commit_end) {
      const std::size_t step = std::clamp(commit_end / 8, commit_step_min, commit_step_max);
      std::size_t next = end_of_step(space, std::max(wanted, commit_end + step));
      if (!commit_to(space, next)) {
        next = wanted;  // the rounding may have been what did not fit
        if (!commit_to(space, next)) return false;
      }
    }
    if (!class_of.ensure(space, wanted, pages) || !run_of.ensure(space, wanted, pages))
      return false;
    // So that a slab does not want for a record or a bitmap while pages are free, where all memory
    // that there is became pages. Not a promise: both may come to take more.
    if (!runs.ensure(space, wanted / run_pages_usual, runs_max(pages)) ||
        !bits.ensure(space, wanted * bit_words_usual, pages * bit_words_per_page_))
      return false;
    if (slack.entries() != nullptr && !slack.ensure(space, slots_of(wanted), slots_of(pages)))
      return false;
    top = wanted;
    return true;
  }

  /// Effects: the memory of the marks of these pages goes back to the system, if there is much of
  /// it. Requires: no slab is there, so the marks are 0.
  template <address_space Space>
  void purge_marks(Space& space, std::size_t first, std::size_t count) noexcept {
    if (count < purged_marks_min) return;
    for (unsigned shift = mark_shift_min; shift <= mark_shift_max; ++shift) {
      const std::size_t begin = align_up(marks_to(shift, first), page_size);
      const std::size_t end = std::min(align_down(marks_to(shift, first + count), page_size),
                                       marks_of(shift).committed_bytes());
      if (begin < end)
        static_cast<void>(space.purge(marks_of(shift).entries() + begin, end - begin));
    }
  }

  /// Returns: whether so many free pages at the top are worth a retreat.
  [[nodiscard]] bool may_retreat(std::size_t count) const noexcept {
    return is_in_gap() && count >= retreat_min;
  }
  /// Effects: the pages from `first` on are nobody's again. Requires: may_retreat; they are in no
  /// run.
  template <address_space Space>
  void retreat(Space& space, std::size_t first) noexcept {
    space.release(reinterpret_cast<void*>(address_of(first)), (commit_end - first) << page_shift);
    top = commit_end = first;
  }

  /// Effects: the tables have room, in memory, for `more` pages of new runs and bitmaps of any
  /// length. Returns: false when memory was refused.
  template <address_space Space>
  [[nodiscard]] bool prepare_tables(Space& space, std::size_t more) noexcept {
    const std::size_t runs_wanted = std::min(runs_used_ + runs_max(more), runs_max(pages));
    const std::size_t bits_wanted =
        std::min(bits_used_ + more * bit_words_per_page_, pages * bit_words_per_page_);
    for (unsigned shift = mark_shift_min; shift <= mark_shift_max; ++shift)
      if (!have_marks(space, shift, top) || !marks_of(shift).populate(space, marks_to(shift, top)))
        return false;
    return runs.ensure(space, runs_wanted, runs_max(pages)) &&
           bits.ensure(space, bits_wanted, pages * bit_words_per_page_) &&
           class_of.populate(space, top) && run_of.populate(space, top) &&
           runs.populate(space, runs_wanted) && bits.populate(space, bits_wanted);
  }

  /// Effects: the pages before `end` have marks for slabs with windows of this length. Returns:
  /// false when memory was refused.
  template <address_space Space>
  [[nodiscard]] ASHLAR_MISS bool have_marks(Space& space, unsigned shift,
                                            std::size_t end) noexcept {
    return marks_of(shift).ensure(space, marks_to(shift, end), marks_to(shift, pages));
  }

  /// Effects: from now on there is a slack entry for each block. Returns: false if refused.
  template <address_space Space>
  [[nodiscard]] bool keep_slack(Space& space) noexcept {
    if (slack.entries() == nullptr) {
      void* memory = is_in_gap() ? slack_gap_ : space.reserve_zeros(slack_bytes(pages));
      if (memory == nullptr) return false;
      slack.place(memory, is_in_gap() ? ground::gap : ground::reserved);
    }
    return slack.ensure(space, slots_of(top), slots_of(pages));
  }
  [[nodiscard]] std::uint16_t& slack_at(std::uintptr_t address) const noexcept {
    return slack.entries()[(address - base) / block_granule];
  }

  /// Returns: a record, or null when memory for it was refused.
  template <address_space Space>
  [[nodiscard]] run* new_run(Space& space) noexcept {
    run* r = free_runs_;
    if (r != nullptr) {
      free_runs_ = r->next;
    } else {
      if (runs_used_ == runs_max(pages) || !runs.ensure(space, runs_used_ + 1, runs_max(pages)))
        return nullptr;
      r = runs.entries() + runs_used_++;
    }
    *r = run{};
    r->range = number;
    return r;
  }
  void delete_run(run* r) noexcept {
    r->kind = run_kind::unused;
    r->next = free_runs_;
    free_runs_ = r;
  }

  /// Returns: `words` words for a bitmap, contents unspecified, or null.
  template <address_space Space>
  [[nodiscard]] std::uint64_t* new_bits(Space& space, std::size_t words) noexcept {
    if (std::uint64_t* recycled = free_bits_[words]; recycled != nullptr) {
      // A free bitmap's first word is the link to the next: these words are ours, not a caller's.
      free_bits_[words] = reinterpret_cast<std::uint64_t*>(*recycled);
      return recycled;
    }
    const std::size_t capacity = pages * bit_words_per_page_;
    if (bits_used_ + words > capacity || !bits.ensure(space, bits_used_ + words, capacity))
      return nullptr;
    std::uint64_t* fresh = bits.entries() + bits_used_;
    bits_used_ += words;
    return fresh;
  }
  void delete_bits(std::uint64_t* map, std::size_t words) noexcept {
    *map = reinterpret_cast<std::uint64_t>(free_bits_[words]);
    free_bits_[words] = map;
  }

  /// Returns: bytes of addresses that the range and its tables have.
  [[nodiscard]] std::size_t reserved_bytes() const noexcept {
    if (is_in_gap()) {
      std::size_t bytes = (commit_end << page_shift) + table_reservation +
                          run_of.committed_bytes() + runs.committed_bytes() +
                          bits.committed_bytes() + slack.committed_bytes();
      for (const auto& of_shift : marks) bytes += of_shift.committed_bytes();
      return bytes;
    }
    return reserved_addresses_ + table_reservation +
           (slack.entries() != nullptr ? slack_bytes(pages) : 0);
  }
  /// Returns: bytes of the tables that are in memory. O(their pages).
  template <address_space Space>
  [[nodiscard]] std::size_t resident_table_bytes(Space& space) const noexcept {
    const auto resident = [&space](const auto& table) {
      return space.resident(table.entries(), table.committed_bytes());
    };
    std::size_t bytes =
        resident(class_of) + resident(run_of) + resident(runs) + resident(bits) + resident(slack);
    for (const auto& of_shift : marks) bytes += resident(of_shift);
    return bytes;
  }

  std::uintptr_t base = 0;
  std::size_t pages = 0;
  std::size_t top = 0;
  std::size_t commit_end = 0;
  std::size_t table_reservation = 0;  ///< bytes: of all tables; in a gap of the class table alone
  std::uint8_t number = 0;
  grown_table<page_class> class_of;
  grown_table<std::uint32_t> run_of;
  grown_table<run> runs;
  grown_table<std::uint64_t> bits;
  grown_table<std::uint16_t> slack;  ///< one entry a granule, only while every call is counted
  grown_table<block_mark> marks[mark_shift_max - mark_shift_min + 1];
  block_tables tables;  ///< what a hit reads, once the range is there

 private:
  /// Of a page: the words of a bitmap of the smallest blocks. And the pages of a short run.
  static constexpr std::size_t bit_words_usual = page_size / block_granule / 64;
  static constexpr std::size_t run_pages_usual = 8;
  static constexpr std::size_t commit_step_min = 256 * 1024 / page_size;
  /// Of so many pages, the marks of the smallest blocks have 16 pages, and those of the largest
  /// two.
  static constexpr std::size_t purged_marks_min = 256;
  static constexpr std::size_t retreat_min = 4 * 1024 * 1024 / page_size;
  static constexpr std::size_t commit_step_max = 64 * 1024 * 1024 / page_size;

  [[nodiscard]] grown_table<block_mark>& marks_of(unsigned shift) noexcept {
    return marks[shift - mark_shift_min];
  }
  /// Returns: how many marks the pages before `end` have.
  [[nodiscard]] static constexpr std::size_t marks_to(unsigned shift, std::size_t end) noexcept {
    return (end << page_shift) >> shift;
  }
  void place_marks(const block_tables& placed, ground from) noexcept {
    tables = placed;
    for (unsigned shift = mark_shift_min; shift <= mark_shift_max; ++shift)
      marks_of(shift).place(tables.mark_at(reinterpret_cast<void*>(base), shift), from);
  }

  /// Effects: as `open_window`, for any window, whose own tables begin so many bytes behind the
  /// gap's.
  template <address_space Space>
  [[nodiscard]] bool open_here(Space& space, unsigned w, std::size_t bit_words, std::uint8_t index,
                               const block_tables& placed, std::size_t told,
                               std::size_t own_tables) noexcept {
    pages = windows_.pages[w];
    bit_words_per_page_ = bit_words;
    number = index;
    const table_layout at(pages, bit_words);
    auto* const begin_of_tables = reinterpret_cast<char*>(gap_tables_ + own_tables);
    run_of.place(begin_of_tables, ground::gap);
    bits.place(begin_of_tables + at.bits, ground::gap);
    runs.place(begin_of_tables + at.runs, ground::gap);
    slack_gap_ = begin_of_tables + at.end;
    place_marks(placed, ground::gap);
    auto* const classes = reinterpret_cast<char*>(gap_tables_);
    const std::size_t class_begin = class_table_bytes(told >> page_shift);
    const std::size_t class_end = class_table_bytes(placed.end >> page_shift);
    if (class_begin < class_end) {
      if (!space.claim(classes + class_begin, class_end - class_begin)) {
        release(space);
        return false;
      }
      table_reservation_ = classes + class_begin;
      table_reservation = class_end - class_begin;
    }
    class_of.place(classes + windows_.begin(w) * sizeof(page_class), ground::gap,
                   class_table_bytes(pages));
    // So that a gap which somebody has after all is found out now.
    if (commit_to(space, commit_step_min)) return true;
    release(space);
    return false;
  }

  [[nodiscard]] bool is_in_gap() const noexcept { return gap_tables_ != 0; }

  [[nodiscard]] std::uint32_t id_of(const run& r) const noexcept {
    return static_cast<std::uint32_t>(&r - runs.entries());
  }

  /// Effects: reserves `bytes` that begin at a multiple of the heap's page. The system's page may
  /// be smaller: then a reservation that begins elsewhere is replaced by one that is a page longer.
  template <address_space Space>
  [[nodiscard]] bool reserve_addresses(Space& space, std::size_t bytes) noexcept {
    reserved_addresses_ = bytes;
    reserved_ = space.reserve(bytes);
    if (is_aligned(reserved_, page_size)) return reserved_ != nullptr;
    space.release(reserved_, bytes);
    reserved_addresses_ += page_size;
    reserved_ = space.reserve(reserved_addresses_);
    return reserved_ != nullptr;
  }

  /// Returns: `end`, or where a huge page ends if the space asks for these: the system brings one
  /// only into memory that has all of it.
  template <address_space Space>
  [[nodiscard]] std::size_t end_of_step(Space& space, std::size_t end) const noexcept {
    if constexpr (requires { space.huge_page_bytes(); })
      if (const std::size_t whole = space.huge_page_bytes(); whole != 0)
        end = (align_up(address_of(end), whole) - base) >> page_shift;
    return std::min(pages, end);
  }
  /// Each table of marks in use reaches as far: else free pages at a limit might make no slab.
  template <address_space Space>
  [[nodiscard]] bool commit_to(Space& space, std::size_t end) noexcept {
    for (unsigned shift = mark_shift_min; shift <= mark_shift_max; ++shift)
      if (marks_of(shift).committed_bytes() != 0 && !have_marks(space, shift, end)) return false;
    if (!take_ground(space, is_in_gap() ? ground::gap : ground::reserved,
                     reinterpret_cast<void*>(address_of(commit_end)),
                     (end - commit_end) << page_shift))
      return false;
    if constexpr (requires(void* p, std::size_t n) { space.choose_pages(p, n); })
      space.choose_pages(reinterpret_cast<void*>(address_of(commit_end)), (end - commit_end)
                                                                              << page_shift);
    commit_end = end;
    return true;
  }

  void* gap_ = nullptr;            ///< that this range leaves when it goes
  std::uintptr_t gap_tables_ = 0;  ///< where the tables in the gap begin; 0: reserved
  void* extra_ = nullptr;
  void* table_reservation_ = nullptr;
  gap_windows windows_;
  void* reserved_ = nullptr;  ///< what the space reserved for the addresses, where there is no gap
  std::size_t reserved_addresses_ =
      0;                       ///< bytes of it: more than the pages where it is not aligned to them
  void* slack_gap_ = nullptr;  ///< where slack begins in the gap
  run* free_runs_ = nullptr;
  std::size_t runs_used_ = 0;
  std::size_t bits_used_ = 0;
  std::size_t bit_words_per_page_ = 0;
  std::uint64_t* free_bits_[slab_words_max + 1] = {};
};

}  // namespace ashlar::detail
