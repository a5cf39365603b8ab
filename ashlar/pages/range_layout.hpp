// pages/range_layout.hpp: how long the tables of a range are, and where each thing is in a gap.
// Layer: pages.
//
//   reserved   class table | run_of | bits | runs | marks            the addresses are elsewhere
//   in a gap   class table | marks | own tables and slack of each window | what others use |
//              window 0 | ... | window 1 | ... | window 2
//
// Invariant: each part begins at a page. Nothing here has memory: these are lengths and offsets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/pages/block_sign.hpp>
#include <ashlar/pages/block_tables.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// What one of the system's page tables covers: a small heap's blocks lie in one.
inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// The class table has whole pages, and as many before it that stay zero (block_tables.hpp).
[[nodiscard]] constexpr std::size_t class_table_bytes(std::size_t page_count) noexcept {
  return align_up(page_count * sizeof(page_class), page_size);
}

[[nodiscard]] constexpr std::size_t slots_of(std::size_t page_count) noexcept {
  return page_count * (page_size / block_granule);
}
[[nodiscard]] constexpr std::size_t slack_bytes(std::size_t page_count) noexcept {
  return align_up(slots_of(page_count) * sizeof(std::uint16_t), page_size);
}

/// Returns: how many records of runs that many pages need at most: each run has a page at least,
/// and one more is on its way during a split.
[[nodiscard]] constexpr std::size_t runs_max(std::size_t page_count) noexcept {
  return page_count + 1;
}

/// Where the tables of marks of a range are: R of block_sign.hpp is the range's length, rounded up
/// so that each table begins at a page.
[[nodiscard]] constexpr std::size_t marks_span(std::size_t bytes) noexcept {
  return align_up(bytes, page_size << mark_shift_max);
}
/// Returns: bytes of addresses of all the tables.
[[nodiscard]] constexpr std::size_t marks_bytes(std::size_t bytes) noexcept {
  return (marks_span(bytes) >> (mark_shift_min - 1)) - (marks_span(bytes) >> mark_shift_max);
}
/// Returns: the tables of the range of `bytes` at `base`, whose marks are at `marks`. Requires: as
/// many zeros are before `classes` as the range has pages, rounded up.
[[nodiscard]] inline block_tables tables_placed(std::uintptr_t base, std::size_t bytes,
                                                const page_class* classes, void* marks) noexcept {
  const std::size_t span = marks_span(bytes);
  return {.origin = base - span,
          .end = 2 * span,
          .classes = classes - (span >> page_shift),
          .marks = reinterpret_cast<std::uintptr_t>(marks) - (span >> mark_shift_max)};
}

/// Where the tables behind run_of begin: offsets from run_of's begin.
struct table_layout {
  constexpr table_layout(std::size_t page_count, std::size_t bit_words) noexcept
      : bits(align_up(page_count * sizeof(std::uint32_t), page_size)),
        runs(bits + align_up(page_count * bit_words * sizeof(std::uint64_t), page_size)),
        end(runs + align_up(runs_max(page_count) * sizeof(run), page_size)) {}

  std::size_t bits, runs, end;
};

/// The windows of a gap, each with a range. R is the length of the first one:
///
///   from the origin  R          2R         16R         32R         256R         512R
///                    | 0: 1 GiB |          | 1: 16 GiB |           | 2: 256 GiB |
///
/// The class table tells of all before the end of the last window in use. So a heap of less than a
/// GiB has one of a MiB. A window begins 16 times as far away as the one before. Then no two
/// windows have a mark at the same place: there are tables of marks for four lengths, each twice
/// the one before (block_sign.hpp).
struct gap_windows {
  static constexpr unsigned count = sizeof(void*) == 8 ? 3 : 1;
  static constexpr unsigned step_shift = mark_shift_max - mark_shift_min + 1;
  static constexpr std::size_t first_max = (std::size_t{1} << 30) >> page_shift;

  constexpr gap_windows() noexcept = default;
  constexpr explicit gap_windows(std::size_t all_pages) noexcept {
    for (unsigned w = 0; w < count; ++w) {
      pages[w] = std::min(all_pages, first_max << step_shift * w);
      all_pages -= pages[w];
    }
  }
  /// Returns: one window of any length, for a range that hits do not look into.
  [[nodiscard]] static constexpr gap_windows one(std::size_t all_pages) noexcept {
    gap_windows made;
    made.pages[0] = all_pages;
    return made;
  }
  /// Returns: how many pages behind the origin window `w` begins.
  [[nodiscard]] constexpr std::size_t begin(unsigned w) const noexcept {
    return rounded(pages[0]) << step_shift * w;
  }
  /// Returns: how many pages behind the origin it ends.
  [[nodiscard]] constexpr std::size_t end(unsigned w) const noexcept {
    return begin(w) + rounded(pages[w]);
  }
  /// Returns: where the last window ends.
  [[nodiscard]] constexpr std::size_t end() const noexcept {
    unsigned last = 0;
    while (last + 1 < count && pages[last + 1] != 0) ++last;
    return end(last);
  }

  std::size_t pages[count] = {};

 private:
  static constexpr std::size_t rounded(std::size_t page_count) noexcept {
    return marks_span(page_count << page_shift) >> page_shift;
  }
};

/// What is in a gap: the class table, the marks, each window's own tables and its slack, what
/// others use, and the windows. Offsets from the class table's begin.
struct gap_layout {
  constexpr gap_layout(const gap_windows& windows, std::size_t bit_words,
                       std::size_t extra_bytes) noexcept
      : marks(class_table_bytes(windows.end())) {
    std::size_t at = marks + (windows.end() << page_shift >> mark_shift_min);
    for (unsigned w = 0; w < gap_windows::count; ++w) {
      tables[w] = at;
      at += table_layout(windows.pages[w], bit_words).end + slack_bytes(windows.pages[w]);
    }
    extra = at;
    blocks = align_up(extra + extra_bytes, huge_page);
    end = blocks + ((windows.end() - windows.begin(0)) << page_shift);
  }

  std::size_t marks, tables[gap_windows::count] = {}, extra = 0, blocks = 0, end = 0;
};

inline constexpr std::size_t gap_spare_max = std::size_t{sizeof(void*) == 8 ? 32 : 1} << 30;
/// A gap is longer than what is in it, and that begins somewhere in its first part: an address
/// does not follow from the gap's. The system's choice for a page tells where. Where the space
/// has entropy, this does, and there is such a part before the blocks as well: then no address of
/// a block tells where the tables are.
[[nodiscard]] constexpr std::size_t gap_spare(std::size_t page_count) noexcept {
  return 2 * huge_page + align_up(std::min(page_count * page_size / 2, gap_spare_max), huge_page);
}

}  // namespace ashlar::detail
