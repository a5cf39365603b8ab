// heap/run_bins.hpp: free runs sorted by length, for best fit in O(1).
// Layer: heap.
//
// Lengths 1..32 have a bin each, above that eight bins a doubling. Inside a bin the newest is
// first: the pages it holds are the likeliest to be in a CPU cache. Invariant: a run is in
// bin_of(run.pages); bit b of nonempty is set iff bin b has a run; the first run's `previous` is
// the last one of its bin, which has waited longest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/heap/run.hpp>

namespace ashlar::detail {

class run_bins {
 public:
  [[nodiscard]] std::size_t pages() const noexcept { return pages_; }

  void insert(run* r) noexcept {
    const unsigned b = bin_of(r->pages);
    run* const first = head_[b];
    r->next = first;
    r->previous = first != nullptr ? first->previous : r;
    if (first != nullptr) first->previous = r;
    head_[b] = r;
    nonempty_[b / 64] |= std::uint64_t{1} << (b % 64);
    pages_ += r->pages;
  }

  void remove(run* r) noexcept {
    const unsigned b = bin_of(r->pages);
    run* const first = head_[b];
    if (r == first)
      head_[b] = r->next;
    else
      r->previous->next = r->next;
    run* const behind = r->next != nullptr ? r->next : head_[b];
    if (behind != nullptr) behind->previous = r->previous;
    if (head_[b] == nullptr) nonempty_[b / 64] &= ~(std::uint64_t{1} << (b % 64));
    pages_ -= r->pages;
  }

  /// Returns: a run of at least `pages`, from the least bin that has one; null if none. In the bin
  /// of `pages` itself a run may be too short, so a few are looked at; every other bin fits by its
  /// index.
  [[nodiscard]] run* find(std::size_t pages) const noexcept {
    if (pages > UINT32_MAX) return nullptr;
    const unsigned own = bin_of(pages);
    unsigned looked = 0;
    run* best = nullptr;
    for (run* r = head_[own]; r != nullptr && looked < looks_max; r = r->next, ++looked)
      if (r->pages >= pages && (best == nullptr || r->pages < best->pages)) best = r;
    if (best != nullptr) return best;
    for (unsigned b = next_nonempty(own + 1); b < bin_count; b = next_nonempty(b + 1))
      return head_[b];
    return nullptr;
  }

  /// Effects: the bins themselves, which are less than a page, are in memory.
  void populate() noexcept {
    // Writes that change nothing; a compiler must keep them.
    run* volatile& first = head_[0];
    first = first;
    run* volatile& last = head_[bin_count - 1];
    last = last;
  }

  /// Effects: calls visit(run*) for the runs of the first bins from `bin` on, in each from the one
  /// that has waited longest, until it returns false. `visit` may remove the run it is given.
  /// Returns: the bin where it did; bins_end where all were visited.
  template <class Visitor>
  unsigned visit_from(unsigned bin, Visitor visit) {
    for (unsigned b = next_nonempty(bin); b < bins_end; b = next_nonempty(b + 1)) {
      for (run* r = head_[b]->previous;;) {
        run* const first = head_[b];
        run* const before = r != first ? r->previous : nullptr;
        if (!visit(r)) return b;
        if (before == nullptr) break;
        r = before;
      }
    }
    return bins_end;
  }

  static constexpr unsigned bins_end = 256;

 private:
  static constexpr unsigned exact_bins = 32;
  static constexpr unsigned bin_count = bins_end;
  static constexpr unsigned looks_max = 16;

  [[nodiscard]] static constexpr unsigned bin_of(std::size_t pages) noexcept {
    if (pages <= exact_bins) return static_cast<unsigned>(pages) - 1;
    const auto log = static_cast<unsigned>(std::bit_width(pages)) - 1;
    return exact_bins + (log - 5) * 8 + static_cast<unsigned>((pages >> (log - 3)) & 7);
  }
  static_assert(exact_bins + (31 - 5) * 8 + 7 < bin_count);

  [[nodiscard]] unsigned next_nonempty(unsigned b) const noexcept {
    while (b < bin_count) {
      const std::uint64_t rest = nonempty_[b / 64] >> (b % 64);
      if (rest != 0) return b + static_cast<unsigned>(std::countr_zero(rest));
      b = (b / 64 + 1) * 64;
    }
    return bin_count;
  }

  run* head_[bin_count] = {};
  std::uint64_t nonempty_[bin_count / 64] = {};
  std::size_t pages_ = 0;
};

}  // namespace ashlar::detail
