// heap/page_range.hpp: one reserved range of addresses and the tables that say what each page is.
// Layer: heap. Includes: core.
//
//   addresses  | committed, cut into runs            | committed | reserved ...             |
//              base                                  top       commit_end                end
//   tables, one entry a page, in a reservation of their own:
//   class_of   class of the slab that the page is in; 0 when it is in none (large, free, beyond
//   top) run_of     number of the page's run: every page of a slab, the first of a large block, the
//   first
//              and last of a free run; elsewhere it is stale, so a reader compares run.first
//   runs       the records; bits: the slabs' bitmaps, both handed out in order and recycled
//
// Invariant: top <= commit_end <= pages. Pages in [top, commit_end) were never used: they are zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/address_space.hpp>
#include <ashlar/heap/run.hpp>

namespace ashlar::detail {

/// A table that grows inside a reservation: entries below `count` exist, those committed may.
template <class T>
class grown_table {
 public:
  void place(void* memory) noexcept { entries_ = static_cast<T*>(memory); }
  [[nodiscard]] T* entries() const noexcept { return entries_; }
  [[nodiscard]] std::size_t committed_bytes() const noexcept { return committed_; }

  /// Effects: makes the first `count` entries writable. Returns: false when memory was refused.
  template <address_space Space>
  [[nodiscard]] bool ensure(Space& space, std::size_t count, std::size_t capacity) noexcept {
    const std::size_t wanted = align_up(count * sizeof(T), page_size);
    if (wanted <= committed_) return true;
    // A quarter more than what is there, so that the number of system calls stays logarithmic.
    const std::size_t all = align_up(capacity * sizeof(T), page_size);
    const std::size_t step = align_up(std::max(committed_ / 4, 4 * page_size), page_size);
    const std::size_t next = std::min(all, std::max(wanted, committed_ + step));
    return commit_to(space, next) || commit_to(space, wanted);
  }

  /// Effects: the first `count` entries are in memory. Requires: they are writable.
  template <address_space Space>
  [[nodiscard]] bool populate(Space& space, std::size_t count) noexcept {
    return count == 0 || space.populate(entries_, align_up(count * sizeof(T), page_size));
  }

 private:
  template <address_space Space>
  [[nodiscard]] bool commit_to(Space& space, std::size_t end) noexcept {
    if (!space.commit(reinterpret_cast<char*>(entries_) + committed_, end - committed_))
      return false;
    committed_ = end;
    return true;
  }

  T* entries_ = nullptr;
  std::size_t committed_ = 0;
};

class page_range {
 public:
  /// Effects: reserves `page_count` pages and their tables, with so many words of bitmaps a page. Returns: false when that was refused.
  template <address_space Space>
  [[nodiscard]] bool reserve(Space& space, std::size_t page_count, std::size_t bit_words,
                             std::uint8_t index) noexcept {
    const std::size_t class_bytes = align_up(page_count, page_size);
    const std::size_t run_of_bytes = align_up(page_count * sizeof(std::uint32_t), page_size);
    const std::size_t runs_bytes = align_up(runs_max(page_count) * sizeof(run), page_size);
    const std::size_t bits_bytes =
        align_up(page_count * bit_words * sizeof(std::uint64_t), page_size);
    const std::size_t table_bytes = class_bytes + run_of_bytes + runs_bytes + bits_bytes;
    auto* addresses = static_cast<char*>(space.reserve(page_count * page_size));
    if (addresses == nullptr) return false;
    auto* tables = static_cast<char*>(space.reserve_zeros(table_bytes));
    if (tables == nullptr) {
      space.release(addresses, page_count * page_size);
      return false;
    }
    base = reinterpret_cast<std::uintptr_t>(addresses);
    pages = page_count;
    bit_words_per_page_ = bit_words;
    table_reservation = table_bytes;
    number = index;
    class_of.place(tables);
    run_of.place(tables + class_bytes);
    runs.place(tables + class_bytes + run_of_bytes);
    bits.place(tables + class_bytes + run_of_bytes + runs_bytes);
    return true;
  }

  /// Effects: gives everything back; the object is as new. Requires: nothing of the range is in use.
  template <address_space Space>
  void release(Space& space) noexcept {
    space.release(reinterpret_cast<void*>(base), pages * page_size);
    space.release(class_of.entries(), table_reservation);
    if (slack.entries() != nullptr) space.release(slack.entries(), slack_reservation());
    *this = page_range{};
  }

  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return ((address - base) >> page_shift) < pages;
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
  void note_slab(const run& r) noexcept {
    std::fill_n(run_of.entries() + r.first, r.pages, id_of(r));
    std::fill_n(class_of.entries() + r.first, r.pages, r.size_class);
  }
  void forget_slab(const run& r) noexcept {
    std::fill_n(class_of.entries() + r.first, r.pages, class_index{0});
  }

  /// Effects: moves `top` up by `count` pages, committing memory and tables. Returns: false, with
  /// nothing changed for the caller, when the range is full or memory was refused.
  template <address_space Space>
  [[nodiscard]] bool extend(Space& space, std::size_t count) noexcept {
    if (count > pages - top) return false;
    const std::size_t wanted = top + count;
    if (wanted > commit_end) {
      const std::size_t step = std::clamp(commit_end / 8, commit_step_min, commit_step_max);
      std::size_t next = std::min(pages, std::max(wanted, commit_end + step));
      if (!commit_to(space, next)) {
        next = wanted;  // the rounding may have been what did not fit
        if (!commit_to(space, next)) return false;
      }
    }
    if (!class_of.ensure(space, wanted, pages) || !run_of.ensure(space, wanted, pages))
      return false;
    // So that a slab does not want for a record or a bitmap while pages are free, where all memory that
    // there is became pages. Not a promise: both may come to take more.
    if (!runs.ensure(space, wanted / run_pages_usual, runs_max(pages)) ||
        !bits.ensure(space, wanted * bit_words_usual, pages * bit_words_per_page_))
      return false;
    if (slack.entries() != nullptr && !slack.ensure(space, slots_of(wanted), slots_of(pages)))
      return false;
    top = wanted;
    return true;
  }

  /// Effects: the tables have room, in memory, for `more` pages of new runs and bitmaps of any length.
  /// Returns: false when memory was refused.
  template <address_space Space>
  [[nodiscard]] bool prepare_tables(Space& space, std::size_t more) noexcept {
    const std::size_t runs_wanted = std::min(runs_used_ + runs_max(more), runs_max(pages));
    const std::size_t bits_wanted =
        std::min(bits_used_ + more * bit_words_per_page_, pages * bit_words_per_page_);
    return runs.ensure(space, runs_wanted, runs_max(pages)) &&
           bits.ensure(space, bits_wanted, pages * bit_words_per_page_) &&
           class_of.populate(space, top) && run_of.populate(space, top) &&
           runs.populate(space, runs_wanted) && bits.populate(space, bits_wanted);
  }

  /// Effects: from now on there is a slack entry for each block. Returns: false if refused.
  template <address_space Space>
  [[nodiscard]] bool keep_slack(Space& space) noexcept {
    if (slack.entries() == nullptr) {
      void* memory = space.reserve_zeros(slack_reservation());
      if (memory == nullptr) return false;
      slack.place(memory);
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

  [[nodiscard]] std::size_t reserved_bytes() const noexcept {
    return pages * page_size + table_reservation +
           (slack.entries() != nullptr ? slack_reservation() : 0);
  }
  [[nodiscard]] std::size_t slack_reservation() const noexcept {
    return align_up(slots_of(pages) * sizeof(std::uint16_t), page_size);
  }
  /// Returns: bytes of the tables that are in memory. O(their pages).
  template <address_space Space>
  [[nodiscard]] std::size_t resident_table_bytes(Space& space) const noexcept {
    const auto resident = [&space](const auto& table) {
      return space.resident(table.entries(), table.committed_bytes());
    };
    return resident(class_of) + resident(run_of) + resident(runs) + resident(bits) +
           resident(slack);
  }

  std::uintptr_t base = 0;
  std::size_t pages = 0;
  std::size_t top = 0;
  std::size_t commit_end = 0;
  std::size_t table_reservation = 0;  ///< bytes of addresses that the tables but slack have
  std::uint8_t number = 0;
  grown_table<class_index> class_of;
  grown_table<std::uint32_t> run_of;
  grown_table<run> runs;
  grown_table<std::uint64_t> bits;
  grown_table<std::uint16_t> slack;  ///< one entry a granule, only while every call is counted

 private:
  /// Of a page: the words of a bitmap of the smallest blocks. And the pages of a short run.
  static constexpr std::size_t bit_words_usual = page_size / block_granule / 64;
  static constexpr std::size_t run_pages_usual = 8;
  static constexpr std::size_t commit_step_min = 256 * 1024 / page_size;
  static constexpr std::size_t commit_step_max = 64 * 1024 * 1024 / page_size;

  static constexpr std::size_t slots_of(std::size_t page_count) noexcept {
    return page_count * (page_size / block_granule);
  }

  // Each run has at least one page, and one record more is on its way during a split.
  static constexpr std::size_t runs_max(std::size_t page_count) noexcept { return page_count + 1; }

  [[nodiscard]] std::uint32_t id_of(const run& r) const noexcept {
    return static_cast<std::uint32_t>(&r - runs.entries());
  }

  template <address_space Space>
  [[nodiscard]] bool commit_to(Space& space, std::size_t end) noexcept {
    if (!space.commit(reinterpret_cast<void*>(address_of(commit_end)), (end - commit_end)
                                                                           << page_shift))
      return false;
    commit_end = end;
    return true;
  }

  run* free_runs_ = nullptr;
  std::size_t runs_used_ = 0;
  std::size_t bits_used_ = 0;
  std::size_t bit_words_per_page_ = 0;
  std::uint64_t* free_bits_[slab_words_max + 1] = {};
};

}  // namespace ashlar::detail
