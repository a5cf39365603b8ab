// pages/page_supply.hpp: which pages a request gets, how many there may be, and when they go back.
// Layer: pages.
//
//   a request:  dirty runs -> clean ones -> closed ones, if many -> fresh pages of a range
//               -> closed ones -> headrooms -> a new range
//   giving:     a run in use -> dirty -> (older than the delay) purged -> clean
//               a large block whose memory goes back at once -> closed
//
// A run that is freed becomes dirty: it keeps its memory, and it is the first choice of whoever
// needs pages next, of any class. So memory moves between classes without a system call. What stays
// dirty for longer than the delay is purged: given back to the system.
//
// Law: whoever makes used pages + dirty pages more leaves them <= the most there may be.
// Invariant (audit): pages of runs in use, being purged and lost == used_pages_ + the closed pages
// behind slabs (page_heap.hpp).
// Thread-safety: one lock for the structure (run_store.hpp), which is open during every system call
// that gives memory back. Purging is done by one thread at a time, under a lock of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include <ashlar/core/byte_exchange.hpp>
#include <ashlar/core/count_ones.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/run_store.hpp>
#include <ashlar/pages/sealable.hpp>
#include <ashlar/pages/slab.hpp>

namespace ashlar::detail {

/// When free pages go back to the system.
struct purge_policy {
  std::int64_t delay_ms = 1000;  ///< after they became free; 0: at once; below 0: never
  std::size_t keep_bytes = 0;    ///< so much is kept whatever its age
};

/// Whether a request may be served from pages that were never used, or only from free ones.
enum class growth : bool { refused, allowed };

struct page_counts {
  std::size_t used_pages = 0;
  std::uint64_t committed_bytes = 0;  ///< in use or dirty, tables excluded: no more is resident
  std::uint64_t peak_committed_bytes = 0;
  std::uint64_t given_back_bytes = 0;
  std::uint64_t limit_bytes = 0;  ///< committed_bytes at most; 0: no bound
};

template <address_space Space, class Mutex>
class page_supply {
 public:
  explicit constexpr page_supply(sealable<Space>& space) noexcept : space_(space), runs_(space) {}
  page_supply(const page_supply&) = delete;
  page_supply& operator=(const page_supply&) = delete;

  /// Effects: from now on pages in use and dirty do not become more than `pages`. Where they are
  /// more now, nothing grows until they are less. has_crossed() tells that they have come to
  /// `soft_percent` of `pages`.
  void set_pages_max(std::size_t pages, unsigned soft_percent = 100) noexcept {
    const std::lock_guard guard(mutex_);
    pages_max_ = pages;
    soft_pages_ = pages / 100 * soft_percent + pages % 100 * soft_percent / 100;
    is_above_ = false;
    note_committed();
  }
  /// Returns: whether pages in use and dirty have crossed since this was asked last. Takes no lock.
  [[nodiscard]] bool has_crossed() const noexcept {
    return crossed_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool take_crossing() noexcept {
    return crossed_.exchange(false, std::memory_order_relaxed);
  }
  /// Returns: the bytes to give back so that pages in use and dirty are a sixteenth of the most
  /// there may be below that percentage: less would cross again soon. 0: they are below it.
  [[nodiscard]] std::size_t bytes_above() noexcept {
    const std::lock_guard guard(mutex_);
    const std::size_t now = committed_pages_.load(std::memory_order_relaxed);
    return now < soft_pages_ ? 0 : (now - soft_pages_ + pages_max_ / 16 + 1) << page_shift;
  }
  /// Returns: whether the most there may be is what keeps `pages` more from being used.
  [[nodiscard]] bool is_beyond_max(std::size_t pages) noexcept {
    const std::lock_guard guard(mutex_);
    return !within_max(pages);
  }

  /// Effects: from now on free pages go back as `policy` says.
  void set_policy(const purge_policy& policy) noexcept {
    // Ages are kept in 32 bits of milliseconds, so half of that is "never".
    const bool never = policy.delay_ms < 0 || policy.delay_ms > INT32_MAX;
    delay_ms_.store(never ? -1 : policy.delay_ms, std::memory_order_relaxed);
    keep_bytes_.store(policy.keep_bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] purge_policy policy() const noexcept {
    return {.delay_ms = delay_ms(), .keep_bytes = keep_bytes_.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] std::int64_t delay_ms() const noexcept {
    return delay_ms_.load(std::memory_order_relaxed);
  }

  // ---- giving back ----------------------------------------------------------------------------

  /// Effects: gives back every dirty run. Returns: the bytes. O(free runs).
  std::size_t purge_all() noexcept {
    unsigned bin = 0;
    step_budget all = step_budget::without_end();
    return purge(INT64_MAX, 0, bin, all);
  }

  /// Effects: gives back what has been dirty for the delay (`any_age`: whatever is dirty), but for
  /// the bytes to keep. Nothing when the policy says never. Returns: the bytes.
  std::size_t purge_aged(bool any_age = false) noexcept {
    unsigned bin = 0;
    step_budget all = step_budget::without_end();
    return purge_aged(bin, any_age, all);
  }
  /// As above, from bin `bin` on, where it goes on, until `left` is spent. It is dirty_bins_end
  /// when nothing is left that another call would give back.
  std::size_t purge_aged(unsigned& bin, bool any_age, step_budget& left) noexcept {
    const std::int64_t delay = delay_ms();
    if (delay < 0) {
      bin = dirty_bins_end;
      return 0;
    }
    const auto now = static_cast<std::int64_t>(space_.now_ms());
    return purge(any_age ? INT64_MAX : now - delay, keep_bytes_.load(std::memory_order_relaxed),
                 bin, left);
  }
  static constexpr unsigned dirty_bins_end = run_store<Space>::dirty_bins_end;

  /// Returns: bytes of pages that are in use or dirty, at some recent moment. Takes no lock.
  [[nodiscard]] std::size_t committed_bytes() const noexcept {
    return committed_pages_.load(std::memory_order_relaxed) << page_shift;
  }

  /// Returns: pages that requests have got, ever, beyond dirty and clean runs; not those by which
  /// large blocks grew. Takes no lock.
  [[nodiscard]] std::size_t grown_pages() const noexcept {
    return grown_pages_.load(std::memory_order_relaxed);
  }

  /// Effects: gives back some pages of a slab. Returns: those that are gone. Requires: nobody has a
  /// block there, or can get one until this returns.
  [[nodiscard]] page_set purge_pages(const run& slab, page_set leaving) noexcept {
    page_set gone = 0;
    for (page_set left = leaving; left != 0;) {
      const int first = std::countr_zero(left);
      const int count = std::countr_one(left >> first);
      const page_set stretch =
          pages_between(static_cast<unsigned>(first), static_cast<unsigned>(first + count));
      char* const begin = runs_.address_of(slab) + (static_cast<std::size_t>(first) << page_shift);
      if (space_.purge(begin, static_cast<std::size_t>(count) << page_shift)) gone |= stretch;
      left &= ~stretch;
    }
    const std::lock_guard guard(mutex_);
    given_back_bytes_ += std::size_t{count_ones(gone)} << page_shift;
    return gone;
  }
  /// Returns: whether the space leaves the system alone now (sealable.hpp).
  [[nodiscard]] bool is_sealed() const noexcept { return space_.is_sealed(); }
  /// Returns: whether as much is free as is to be kept, or more.
  [[nodiscard]] bool has_more_than_kept() noexcept {
    const std::lock_guard guard(mutex_);
    return runs_.dirty_pages() << page_shift >= keep_bytes_.load(std::memory_order_relaxed);
  }
  /// For fork: waits for a purge to end, then for everybody else.
  void lock_all() noexcept {
    purge_mutex_.lock();
    mutex_.lock();
  }
  void unlock_all() noexcept {
    mutex_.unlock();
    purge_mutex_.unlock();
  }

  /// Effects: `bytes` at least are kept whatever their age.
  void keep_at_least(std::size_t bytes) noexcept {
    keep_bytes_.store(std::max(keep_bytes_.load(std::memory_order_relaxed), bytes),
                      std::memory_order_relaxed);
  }

  // ---- pages to use: for who holds the lock, which they may open meanwhile ---------------------

  using mutex_type = typename ranked<Mutex, lock_rank::pages>::type;
  [[nodiscard]] mutex_type& mutex() noexcept { return mutex_; }
  [[nodiscard]] run_store<Space>& runs() noexcept { return runs_; }
  [[nodiscard]] const run_store<Space>& runs() const noexcept { return runs_; }
  [[nodiscard]] sealable<Space>& space() noexcept { return space_; }

  /// Returns: a run in use of no kind yet; null when out of memory. May open the lock meanwhile.
  [[nodiscard]] run* take(std::size_t pages, std::size_t align_pages, growth g) noexcept {
    // An aligned run is a longer one with its ends cut off.
    if (pages > UINT32_MAX || align_pages > UINT32_MAX) return nullptr;
    const std::size_t length = pages + align_pages - 1;
    if (length > UINT32_MAX) return nullptr;
    run* r = take_once(pages, align_pages, length, g, headrooms_at_once);
    if (r == nullptr && g == growth::allowed) {
      // Purged runs merge with clean neighbours, and the system may need the memory to say yes.
      {
        const unlock_guard open(mutex_);
        purge_all();
      }
      runs_.open_all();
      static_cast<void>(runs_.take_record_refusal());
      r = take_once(pages, align_pages, length, g, SIZE_MAX);
      const bool is_at_limit = runs_.take_record_refusal() || runs_.closed_pages() != 0;
      if (r == nullptr && is_at_limit && within_max(pages) && make_room()) {
        runs_.open_all();
        r = take_once(pages, align_pages, length, g, SIZE_MAX);
      }
    }
    return count_used(r);
  }

  /// Effects: closes 4096 free pages, or a quarter as many, and so on, as there are in one piece.
  /// What the system lets a process write to may be limited (RLIMIT_DATA), and tables, records and
  /// closed pages between free ones have to come out of that. Returns: as close_some. May open the
  /// lock meanwhile.
  [[nodiscard]] ASHLAR_COLD bool make_room() noexcept {
    for (std::size_t pages = 4096; pages != 0; pages /= 4)
      if (close_some(pages)) return true;
    return false;
  }
  /// Effects: closes `pages` free pages, or more where no record can be had. Returns: false where
  /// there are not so many in one piece, or the system refuses. May open the lock meanwhile.
  [[nodiscard]] ASHLAR_COLD bool close_some(std::size_t pages) noexcept {
    run* const r = space_.is_sealed() ? nullptr : runs_.take_open(pages);
    if (r == nullptr) return false;
    r->rest = false;
    if (r->kind == run_kind::dirty) {
      if (close(count_used(r), false, true)) return true;
      give(r);
    } else {  // in no memory: it counts for nothing meanwhile, either
      r->kind = run_kind::moving;
      if (shut(r, true)) return true;
      runs_.make_clean(r);
    }
    return false;
  }

  /// Effects: counts `r`, which may be null, as in use. Returns: it.
  [[nodiscard]] run* count_used(run* r) noexcept {
    if (r == nullptr) return nullptr;
    used_pages_ += r->pages;
    note_committed();
    return r;
  }
  /// Effects: `pages` more, or less, are in use: a run has grown, or is given up elsewhere.
  void use(std::size_t pages) noexcept {
    used_pages_ += pages;
    note_committed();
  }
  void unuse(std::size_t pages) noexcept {
    used_pages_ -= pages;
    note_committed();
  }

  /// Returns: whether so many pages more may be in use. Dirty pages count until they are purged.
  [[nodiscard]] bool within_max(std::size_t pages) const noexcept {
    const std::size_t now = used_pages_ + runs_.dirty_pages();
    return now <= pages_max_ && pages <= pages_max_ - now;
  }

  /// Effects: a run that was in use becomes dirty, merged with its dirty neighbours.
  void give(run* r) noexcept {
    used_pages_ -= r->pages;
    runs_.make_dirty(r);
  }

  /// Effects: from now on fresh pages serve before closed ones, while fewer than `pages` are
  /// closed.
  void let_closed_wait(std::size_t pages) noexcept { closed_wait_pages_ = pages; }
  [[nodiscard]] bool closed_wait() const noexcept {
    return runs_.closed_pages() < closed_wait_pages_;
  }
  /// Returns: whether nothing is to be kept that is free.
  [[nodiscard]] bool gives_back_now() const noexcept {
    return delay_ms() >= 0 && keep_bytes_.load(std::memory_order_relaxed) == 0;
  }
  /// Effects: a run in no bin that is not counted is closed. Returns: false, with nothing changed,
  /// when the system refuses, or there are too many such runs. The lock is open meanwhile. Pages
  /// that are to count for no limit get a mapping of their own.
  [[nodiscard]] bool shut(run* r, bool counts_for_none = false) noexcept {
    if (space_.is_sealed() || !runs_.may_close(*r)) return false;
    bool done = false;
    {
      const unlock_guard open(mutex_);
      const std::size_t bytes = std::size_t{r->pages} << page_shift;
      // A short run is closed within its mapping: else a fork would copy one mapping more for each.
      char* const begin = runs_.address_of(*r);
      done = counts_for_none || r->pages > guarded_pages_max ? space_.close(begin, bytes)
                                                             : space_.guard(begin, bytes);
    }
    if (done) runs_.make_closed(r);
    return done;
  }
  /// Effects: a run in use is closed, and its memory goes back. If it `may_retreat`, its addresses
  /// are given up where those of a clean run would be. Returns: as `shut`; then it is in use as
  /// before, and of the kind `purging`.
  [[nodiscard]] bool close(run* r, bool may_retreat, bool counts_for_none = false) noexcept {
    const std::size_t pages = r->pages;
    page_range& range = runs_.range_of(*r);
    r->kind = run_kind::purging;
    if (may_retreat && r->pieces == 0 && !space_.is_sealed() && runs_.would_retreat(*r))
      runs_.make_clean(r);
    else if (!shut(r, counts_for_none))
      return false;
    else if (may_retreat)
      runs_.retreat(range);
    used_pages_ -= pages;
    given_back_bytes_ += pages << page_shift;
    note_committed();
    return true;
  }

  /// Effects: a run in use whose mapping is split gets a fresh one, and is clean. The lock is open
  /// meanwhile.
  void heal(run* r) noexcept {
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    used_pages_ -= r->pages;
    if (renew(r)) given_back_bytes_ += bytes;
  }

  /// Effects: a run that is not counted gets a fresh mapping, and is clean; the lock is open
  /// meanwhile. Returns: false when the system refuses: it is lost.
  bool renew(run* r) noexcept {
    r->kind = run_kind::moving;
    bool fresh = false;
    {
      const unlock_guard open(mutex_);
      fresh = space_.renew(runs_.address_of(*r), std::size_t{r->pages} << page_shift);
    }
    runs_.set_pieces(r, 0);
    if (fresh) {
      runs_.make_clean(r);
    } else {
      r->kind = run_kind::lost;
      used_pages_ += r->pages;
    }
    note_committed();
    return fresh;
  }

  [[nodiscard]] page_counts counts() const noexcept {
    return {used_pages_, std::uint64_t{used_pages_ + runs_.dirty_pages()} << page_shift,
            std::uint64_t{committed_pages_peak_} << page_shift, given_back_bytes_,
            pages_max_ >= SIZE_MAX >> page_shift ? 0 : std::uint64_t{pages_max_} << page_shift};
  }

  /// So many headrooms go for one request, and all of them before it gets nothing.
  static constexpr std::size_t headrooms_at_once = 8;

 private:
  friend struct heap_layout;  // tells where the members are

  void note_committed() noexcept {
    const std::size_t pages = used_pages_ + runs_.dirty_pages();
    committed_pages_.store(pages, std::memory_order_relaxed);
    committed_pages_peak_ = std::max(committed_pages_peak_, pages);
    if (pages < soft_pages_) [[likely]]
      is_above_ = false;
    else if (!std::exchange(is_above_, true))
      crossed_.store(true, std::memory_order_relaxed);
  }

  [[nodiscard]] run* take_once(std::size_t pages, std::size_t align_pages, std::size_t length,
                               growth g, std::size_t headrooms) noexcept {
    run* r = runs_.take_dirty(length);
    if (r == nullptr) r = runs_.take_rest(length);
    if (r == nullptr) {
      if (!within_max(pages)) return nullptr;
      r = runs_.take_clean(length);
      if (r == nullptr && !closed_wait()) r = runs_.take_closed(length);
    }
    if (r == nullptr && g == growth::allowed) {
      r = runs_.take_fresh_here(length);
      if (r == nullptr) r = runs_.take_closed(length);
      if (r == nullptr) r = runs_.take_from_headrooms(length, headrooms);
      if (r == nullptr) r = runs_.take_fresh(length);
      if (r != nullptr) grown_pages_.store(grown_pages() + pages, std::memory_order_relaxed);
    }
    return r == nullptr ? nullptr : runs_.carve(r, pages, align_pages);
  }

  /// Effects: gives back dirty runs that became so at or before `until_ms`, but for those without
  /// which less than `keep_bytes` would stay, from bin `bin` on, until `left` is spent. Then `bin`
  /// is where to go on, else dirty_bins_end. The lock is open during each system call. Returns: the
  /// bytes.
  std::size_t purge(std::int64_t until_ms, std::size_t keep_bytes, unsigned& bin,
                    step_budget& left) noexcept {
    if (space_.is_sealed()) {
      bin = dirty_bins_end;
      return 0;
    }
    std::size_t bytes_purged = 0;
    const std::lock_guard one_at_a_time(purge_mutex_);
    const std::lock_guard guard(mutex_);
    // First all that is old enough is taken out, so that nobody else takes it meanwhile.
    run* taken = nullptr;
    const unsigned stopped = runs_.each_dirty(bin, [&](run* r) {
      left.spend<Space>(step::run_passed);
      const bool old =
          until_ms == INT64_MAX ||
          static_cast<std::int32_t>(static_cast<std::uint32_t>(until_ms) - r->dirty_since_ms) >= 0;
      if (old && ((runs_.dirty_pages() - r->pages) << page_shift) >= keep_bytes) {
        left.spend<Space>(step::run_purged);
        runs_.take_out(r);
        r->kind = run_kind::purging;
        used_pages_ += r->pages;
        r->next = taken;
        taken = r;
      }
      return left.is_left();
    });
    // A bin whose runs are all to stay is skipped: it would keep the others waiting.
    const bool is_stuck = stopped == bin && taken == nullptr;
    bin = stopped + (is_stuck ? 1 : 0);
    const bool taken_any = taken != nullptr;
    while (taken != nullptr) {
      run* const r = taken;
      taken = r->next;
      const std::size_t bytes = std::size_t{r->pages} << page_shift;
      if (r->pieces != 0) {
        used_pages_ -= r->pages;
        if (renew(r)) bytes_purged += bytes;
        continue;
      }
      bool gone = false;
      {
        const unlock_guard open(mutex_);
        gone = space_.purge(runs_.address_of(*r), bytes);
        runs_.range_of(*r).purge_marks(space_, r->first, r->pages);
      }
      used_pages_ -= r->pages;
      if (gone) {
        bytes_purged += bytes;
        runs_.make_clean(r);
      } else {
        runs_.make_dirty(r);
      }
      note_committed();
    }
    given_back_bytes_ += bytes_purged;
    // Runs that the system did not take are dirty again: where it takes none, another try ends
    // nothing.
    if (taken_any && bytes_purged == 0) bin = dirty_bins_end;
    return bytes_purged;
  }

  /// A guarded page keeps its entry in the page tables, 8 bytes.
  static constexpr std::size_t guarded_pages_max = (std::size_t{2} << 20) >> page_shift;

  sealable<Space>& space_;
  run_store<Space> runs_;
  mutex_type mutex_;
  typename ranked<Mutex, lock_rank::purge>::type purge_mutex_;
  std::atomic<std::int64_t> delay_ms_{purge_policy{}.delay_ms};
  std::atomic<std::size_t> keep_bytes_{purge_policy{}.keep_bytes};
  std::size_t closed_wait_pages_ = 0;
  std::size_t used_pages_ = 0;
  std::size_t pages_max_ = SIZE_MAX;
  std::size_t soft_pages_ = SIZE_MAX;
  bool is_above_ = false;  ///< as many pages as that are used and dirty
  std::atomic<exchangeable<bool>> crossed_{
      false};  ///< they have become so many; written under the lock
  std::atomic<std::size_t> committed_pages_{0};  // used and dirty; written under the lock
  std::size_t committed_pages_peak_ = 0;
  std::atomic<std::size_t> grown_pages_{0};  // written under the lock
  std::uint64_t given_back_bytes_ = 0;
};

}  // namespace ashlar::detail
