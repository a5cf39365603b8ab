// pages/free_runs.hpp: the free runs of a heap, by length and by what is in their pages.
// Layer: pages.
//
//   dirty     old bytes may be there, in memory       the first choice of whoever needs pages
//   clean     zero, and in no memory
//   closed    in no memory, and no access is possible   opened when its addresses are needed
//   headroom  clean, and kept for the large block in front of it (run_store.hpp)
//
// A free run merges with free neighbours of its own kind, never of another. Dirty and clean in one
// would either lose the knowledge that pages are zero or call memory resident that is not. A closed
// run may be one mapping, of which a process may have some 65,000. Best fit, from bins by length
// (above). Of a closed run as many pages are opened as are needed.
//
// Thread-safety: none; the page heap locks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/page_range.hpp>
#include <ashlar/pages/range_set.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/sealable.hpp>
#include <ashlar/pages/step_budget.hpp>

namespace ashlar::detail {

// Free runs sorted by length, for best fit in O(1).
// Lengths 1..32 have a bin each, above that eight bins a doubling. Inside a bin the newest is
// first: the pages it holds are the likeliest to be in a CPU cache. Invariant: a run is in
// bin_of(run.pages); bit b of nonempty is set iff bin b has a run; the first run's `previous` is
// the last one of its bin, which has waited longest.

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

template <address_space Space>
class free_runs {
 public:
  using ranges_type = range_set<sealable<Space>>;

  free_runs(const free_runs&) = delete;
  free_runs& operator=(const free_runs&) = delete;

  [[nodiscard]] ranges_type& ranges() noexcept { return ranges_; }
  [[nodiscard]] const ranges_type& ranges() const noexcept { return ranges_; }
  [[nodiscard]] page_range& range_of(const run& r) noexcept { return ranges_[r.range]; }
  [[nodiscard]] char* address_of(const run& r) const noexcept {
    return reinterpret_cast<char*>(ranges_[r.range].address_of(r.first));
  }
  [[nodiscard]] run* run_behind(const run& r) const noexcept {
    return ranges_[r.range].run_at(std::size_t{r.first} + r.pages);
  }

  /// Effects: `r`, in no bin, is of kind `kind` from now on.
  void set_kind(run* r, run_kind kind) noexcept {
    r->kind = kind;
    range_of(*r).note_ends(*r);
  }

  // ---- free runs: a run that is taken is in no bin, and the caller's to cut or to make free -----

  [[nodiscard]] std::size_t dirty_pages() const noexcept { return dirty_.pages() + rests_.pages(); }
  [[nodiscard]] std::size_t headroom_pages() const noexcept { return headrooms_.pages(); }
  [[nodiscard]] std::size_t closed_pages() const noexcept { return closed_.pages(); }

  /// Returns: a run of at least `length` pages; null if there is none. All but take_fresh leave
  /// the number of ranges as it is.
  [[nodiscard]] run* take_dirty(std::size_t length) noexcept { return take_from(dirty_, length); }
  /// The same of dirty runs behind large blocks that may grow into them.
  [[nodiscard]] run* take_rest(std::size_t length) noexcept { return take_from(rests_, length); }
  [[nodiscard]] run* take_clean(std::size_t length) noexcept { return take_from(clean_, length); }
  /// The same of closed runs: so many pages are opened, and clean. Null, too, when the system
  /// refuses.
  [[nodiscard]] run* take_closed(std::size_t length) noexcept {
    run* const r = space_.is_sealed() ? nullptr : take_from(closed_, length);
    return r == nullptr ? nullptr : opened(r, length);
  }
  /// The same, clean, at the top of a range.
  [[nodiscard]] run* take_fresh_here(std::size_t length) noexcept {
    if (space_.is_sealed()) return nullptr;
    run* r = ranges_.take_fresh_here(length);
    // With clean pages before them they are one run, or a rest of these would stand beside those.
    return r == nullptr ? nullptr : merge(r, run_kind::clean, [](const run*) {});
  }

  /// The same in a range of its own, where the others have no room.
  [[nodiscard]] run* take_fresh(std::size_t length) noexcept {
    return space_.is_sealed() ? nullptr : ranges_.take_fresh(length);
  }
  /// Effects: `most` headrooms, which are not kept any more, serve others: where these would get
  /// nothing, or only by a new range, what is in use comes first. Returns: as take_clean.
  [[nodiscard]] run* take_from_headrooms(std::size_t length, std::size_t most) noexcept {
    if (headrooms_.pages() == 0) return nullptr;
    headrooms_.visit_from(0, [this, &most](run* headroom) {
      headrooms_.remove(headroom);
      make_clean(headroom);
      note_steps<Space>(step::run_passed, 1);
      return --most != 0;
    });
    return take_from(clean_, length);
  }

  /// Returns: a run of `pages` that are open, or a longer one where no record can be had; null if
  /// there is none.
  [[nodiscard]] run* take_open(std::size_t pages) noexcept {
    for (run_bins* bins : {&dirty_, &rests_, &clean_}) {
      run* const r = take_from(*bins, pages);
      if (r == nullptr) continue;
      if (run* const rest = pages < r->pages ? split(r, pages) : nullptr; rest != nullptr) {
        rest->rest = r->rest;
        put_back(rest, r->kind, r->dirty_since_ms);
      }
      return r;
    }
    return nullptr;
  }

  /// Effects: visit(run*) for dirty runs from bin `bin` on, until it returns false. The visit may
  /// take it out. Returns: the bin to go on with; dirty_bins_end where all were visited.
  template <class Visit>
  unsigned each_dirty(unsigned bin, Visit visit) noexcept {
    if (bin < run_bins::bins_end) bin = dirty_.visit_from(bin, visit);
    if (bin < run_bins::bins_end) return bin;
    return run_bins::bins_end + rests_.visit_from(bin - run_bins::bins_end, visit);
  }
  static constexpr unsigned dirty_bins_end = 2 * run_bins::bins_end;
  /// Effects: `r`, which is free, is in no bin.
  void take_out(run* r) noexcept { bins_of(*r)->remove(r); }

  /// Effects: a run that is in no bin becomes dirty, merged with its dirty neighbours.
  void make_dirty(run* r) noexcept {
    auto now = static_cast<std::uint32_t>(space_.now_ms());
    const std::uint32_t own = r->pages;
    std::uint32_t longest = own;
    auto take_age = [&](const run* other) {
      // The merged run is as old as its longest part: small arrivals do not keep a large one young.
      if (other->pages > longest) {
        longest = other->pages;
        now = other->dirty_since_ms;
      }
    };
    const bool rest = r->rest;
    r = merge(r, run_kind::dirty, take_age);
    r->rest = rest;
    put_back(r, run_kind::dirty, now);
  }

  /// Effects: a run that is in no bin becomes clean, merged with its clean neighbours; a later
  /// range that is empty then goes, and so does a long run at the top of a range in a gap, and `r`
  /// with it: what the heap gives back, others can map.
  void make_clean(run* r) noexcept {
    r->grown = r->rest = false;
    r = merge(r, run_kind::clean, [](const run*) {});
    page_range& range = ranges_[r->range];
    if (!ranges_.is_lasting(range) && r->pages == range.top) return ranges_.release(range);
    put_back(r, run_kind::clean, 0);
    retreat(range);
  }

  /// Returns: whether `r` may become a closed run. Not in a later range, which goes when it is one
  /// clean run.
  [[nodiscard]] bool may_close(const run& r) const noexcept {
    return ranges_.is_lasting(ranges_[r.range]) && closed_runs_ < closed_runs_max;
  }
  /// Returns: whether the addresses of `r` are nobody's again when it is clean.
  [[nodiscard]] bool would_retreat(const run& r) const noexcept {
    const page_range& range = ranges_[r.range];
    return std::size_t{r.first} + r.pages == range.top && range.may_retreat(r.pages);
  }
  /// Effects: a run that is in no bin, and that the space has closed, is a closed one, merged with
  /// its closed neighbours.
  void make_closed(run* r) noexcept {
    set_pieces(r, 0);
    r->grown = r->rest = false;
    r = merge(r, run_kind::closed, [this](const run*) { --closed_runs_; });
    ++closed_runs_;
    put_back(r, run_kind::closed, 0);
  }
  /// Effects: the clean and closed runs at the top of a range in a gap are gone with their
  /// addresses, if they are long together.
  void retreat(page_range& range) noexcept {
    const auto is_empty = [](const run* r) {
      return r != nullptr && (r->kind == run_kind::clean || r->kind == run_kind::closed);
    };
    std::size_t first = range.top;
    for (unsigned runs = 0; runs != runs_of_retreat_max && first != 0; ++runs) {
      const run* const last = range.run_at(first - 1);
      if (!is_empty(last)) break;
      first = last->first;
    }
    if (!range.may_retreat(range.top - first)) return;
    for (std::size_t page = first; page != range.top;) {
      run* const r = range.run_at(page);
      page += r->pages;
      closed_runs_ -= r->kind == run_kind::closed ? 1u : 0u;
      bins_of(*r)->remove(r);
      range.delete_run(r);
    }
    range.retreat(space_, first);
  }

  /// Returns: whether memory for a record was refused since this was asked last.
  [[nodiscard]] bool take_record_refusal() noexcept {
    return std::exchange(record_refused_, false);
  }

  /// Effects: cuts `r` after `pages`. Returns: the rest, of no kind yet; null if no record was
  /// left.
  [[nodiscard]] run* split(run* r, std::size_t pages) noexcept {
    run* tail = record_in(ranges_[r->range]);
    if (tail == nullptr) return nullptr;
    tail->first = r->first + static_cast<std::uint32_t>(pages);
    tail->pages = r->pages - static_cast<std::uint32_t>(pages);
    r->pages = static_cast<std::uint32_t>(pages);
    tail->grown = r->grown;
    share_pieces(r, tail);
    return tail;
  }

  /// Effects: all closed runs are clean ones, up to one that the system does not open.
  void open_all() noexcept {
    if (space_.is_sealed()) return;
    closed_.visit_from(0, [this](run* r) {
      closed_.remove(r);
      run* const clean = opened(r, r->pages);
      if (clean != nullptr) put_back(clean, run_kind::clean, 0);
      return clean != nullptr;
    });
  }

  /// Effects: the bins are in memory.
  void populate() noexcept {
    for (run_bins* bins : {&dirty_, &rests_, &clean_, &closed_, &headrooms_}) bins->populate();
  }

  /// Effects: counts `n` pieces in `r`, but no more than it has pages.
  void set_pieces(run* r, std::size_t n) noexcept {
    pieces_ -= r->pieces;
    r->pieces =
        static_cast<std::uint16_t>(std::min({n, std::size_t{r->pages}, std::size_t{UINT16_MAX}}));
    pieces_ += r->pieces;
  }

 protected:
  /// Each may be a mapping between two others: an eighth of the mappings that a process may have.
  static constexpr std::size_t closed_runs_max = 4096;
  static constexpr unsigned runs_of_retreat_max = 16;  ///< the work of one call is bounded

  explicit constexpr free_runs(sealable<Space>& space) noexcept : space_(space), ranges_(space) {}

  /// Effects: `part` was cut off `r`; how many pieces each has is not known, so both have all.
  void share_pieces(run* r, run* part) noexcept {
    set_pieces(part, r->pieces);
    set_pieces(r, r->pieces);
  }

  [[nodiscard]] static run* take_from(run_bins& bins, std::size_t length) noexcept {
    run* r = bins.find(length);
    if (r != nullptr) bins.remove(r);
    return r;
  }

  /// Effects: the first `pages` of a closed run, which is in no bin, are open; the others stay
  /// closed if a record can be had for them. Returns: the clean run that they are part of, in no
  /// bin; null when the system refuses, and all is closed.
  [[nodiscard]] run* opened(run* r, std::size_t pages) noexcept {
    if (run* const rest = pages < r->pages ? split(r, pages) : nullptr; rest != nullptr) {
      ++closed_runs_;
      put_back(rest, run_kind::closed, 0);
    }
    char* const begin = address_of(*r);
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    if (!space_.reopen(begin, bytes)) {
      put_back(r, run_kind::closed, 0);
      return nullptr;
    }
    if constexpr (requires { space_.choose_pages(begin, bytes); })
      space_.choose_pages(begin, bytes);
    --closed_runs_;
    r->kind = run_kind::clean;
    return merge(r, run_kind::clean, [](const run*) {});
  }
  void put_back(run* r, run_kind kind, std::uint32_t since) noexcept {
    r->kind = kind;
    r->dirty_since_ms = since;
    ranges_[r->range].note_ends(*r);
    bins_of(*r)->insert(r);
  }
  /// Returns: where a free run is; null when it is in use. What is left behind a block is taken
  /// after all that is as good: the block may grow into it.
  [[nodiscard]] run_bins* bins_of(const run& r) noexcept {
    if (r.kind == run_kind::dirty) return r.rest ? &rests_ : &dirty_;
    if (r.kind == run_kind::clean) return &clean_;
    if (r.kind == run_kind::closed) return &closed_;
    return r.kind == run_kind::headroom ? &headrooms_ : nullptr;
  }

  template <class Note>
  [[nodiscard]] run* merge(run* r, run_kind kind, Note note) noexcept {
    page_range& range = ranges_[r->range];
    if (r->first != 0) {
      run* before = range.run_at(r->first - 1);
      if (before != nullptr && before->kind == kind) {
        bins_of(*before)->remove(before);
        note(before);
        before->pages += r->pages;
        absorb(before, r);
        r = before;
      }
    }
    run* after = range.run_at(std::size_t{r->first} + r->pages);
    if (after != nullptr && after->kind == kind) {
      bins_of(*after)->remove(after);
      note(after);
      r->pages += after->pages;
      absorb(r, after);
    }
    return r;
  }
  /// Effects: the record of `part`, whose pages `r` has now, is free.
  void absorb(run* r, run* part) noexcept {
    const std::size_t pieces = std::size_t{r->pieces} + part->pieces;
    r->grown = r->grown || part->grown;
    set_pieces(part, 0);
    set_pieces(r, pieces);
    ranges_[part->range].delete_run(part);
  }

  /// Returns: a record of the range, or null when memory for it was refused.
  [[nodiscard]] run* record_in(page_range& range) noexcept {
    run* const r = range.new_run(space_);
    record_refused_ = record_refused_ || r == nullptr;
    return r;
  }

  sealable<Space>& space_;
  ranges_type ranges_;
  run_bins dirty_, rests_, clean_, closed_, headrooms_;
  std::size_t pieces_ = 0;
  std::size_t closed_runs_ = 0;
  bool record_refused_ = false;

 private:
  friend struct heap_layout;  // tells where the members are
};

}  // namespace ashlar::detail
