// heap/reclaimer.hpp: why a block leaves a stash, and a free page the process.
// Layer: heap.
//
//   reason           who comes with it          what goes back                        at most
//   age              a miss, or a thread, each  stashes' bottoms to slabs, empty      8,192 slabs
//                    half delay                 slabs that rest, free runs and pages
//                                               of slabs to the system
//   idleness         a miss, where more is       the same: the cache drains, so that   4 rounds of
//                    idle than in use           its next calls miss and go on         all slabs
//   growth to come   a miss, before the heap    stashes and idle stacks to slabs, so  64 blocks a
//                    grows                      that empty ones serve instead         page, or all
//   growth           a miss, each 1 MiB to a    pages of slabs of classes that rest   8 pages a
//                    new peak                   to the system                         page grown
//   end of a thread  at_end                     stashes to slabs                      what it moved
//   refusal          a request without memory   stashes and stacks to slabs, all      all
//                                               free runs to the system
//   request          trim                       stashes, all free pages               all
//   pressure         the background thread      as by age, at once                    8,192 slabs
//   soft limit       the call that crosses it   free runs; after the program's        8,192 slabs
//                                               function also as by age, at once
//
// A negative delay stops age, idleness and growth. No page of a slab leaves by a scan or by growth
// while fewer pages are free than are to be kept.
//
// Without a scan, pages leave when a large block is freed, cleared or copied (large_blocks.hpp),
// or when tables, records or a cache lack memory (page_supply.hpp: make_room), and addresses at the
// end of a range are given up with them (free_runs.hpp).
//
// Where stashes go to slabs, empty slabs that rest leave, too. Stashes and the pages of slabs age
// in scans: what one scan finds unused goes at the next one. Free runs age by the delay. Sorting a
// scattered block back costs some 5 to 10 ns, the fault of a fresh page some 1.4 us: so growth pays
// for sorting. Growth beyond the peak gives pages back at once, else the heap would hold old pages
// beside the new ones. A heap below its peak keeps them: a page that leaves too early costs a page
// fault. The figures are measured (docs/decisions/0005-how-idle-memory-goes-back.md).
//
// Law: a miss spends its budget (step_budget.hpp) and no more; the next misses go on. Any thread
// may sort stashes back, but only one at a time looks into slabs: all who do share a cursor, which
// goes round. A miss that has the heap grow while sorting is under way takes no more bytes than it
// has sorted.
// Thread-safety: any caller at any time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/central_set.hpp>
#include <ashlar/heap/figures.hpp>
#include <ashlar/heap/heap_bounds.hpp>
#include <ashlar/pages/page_heap.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/step_budget.hpp>

namespace ashlar {

/// How far a scan for what can be given back has come (basic_heap::reclaim_step).
struct reclaim_progress {
  bool at_once = false;  ///< all that is free, however short a time: memory is needed elsewhere
  std::size_t next_class = 1;
  unsigned next_bin = 0;       ///< of free runs
  std::size_t slabs = 0;       ///< looked at
  bool saw_last_slab = false;  ///< the next scan begins at the first slab again
  std::size_t bytes = 0;       ///< given back
};

namespace detail {

/// Returns: milliseconds between two scans; negative when free pages never go back.
[[nodiscard]] constexpr std::int64_t reclaim_interval_ms(std::int64_t delay_ms) noexcept {
  return delay_ms < 0 ? -1 : delay_ms / 2 + 1;
}

template <class Centrals, class Mutex>
class reclaimer {
 public:
  using pages_type = typename Centrals::pages_type;
  using classes = typename Centrals::classes;
  using space_type = typename Centrals::space_type;
  static constexpr std::uint64_t never = UINT64_MAX;  ///< a time
  static constexpr auto relaxed = std::memory_order_relaxed;

  /// `held` are the bytes that callers and caches have. All are the heap's own, and outlive this.
  constexpr reclaimer(Centrals& centrals, pages_type& pages, const heap_bounds& bounds,
                      const held_bytes& held) noexcept
      : centrals_(centrals), pages_(pages), supply_(pages.supply()), bounds_(bounds), held_(held) {}

  /// Effects: if it is time, does what is due until `left` is spent. Called by the misses of
  /// `cache` (may be null), with no lock held: a heap that is not used gives nothing back.
  template <class Clock>
  void after_miss(Clock& clock, const void* cache, step_budget& left) noexcept {
    const std::int64_t delay = supply_.delay_ms();
    if (delay < 0) return static_cast<void>(sort_back(left));
    if (const std::uint64_t now = clock.now_ms(); now >= next_ms_.load(relaxed)) [[unlikely]]
      go_on(now, delay, cache, left);
  }

  /// Effects: called when a request has been served by growth: if the heap has grown by a step
  /// since the last one, the next after_miss deals with it.
  void after_growth() noexcept {
    if (has_grown_a_step()) [[unlikely]]
      make_due();
  }

  /// Returns: whether the next calls of the owner of `cache` should be misses: it was the last to
  /// go on with a scan, most memory is idle, and more than when scans last saw to that.
  [[nodiscard]] bool drains(const void* cache) const noexcept {
    return draining_.load(relaxed) == cache && misses_reclaim() && supply_.delay_ms() >= 0 &&
           !bounds_.freed_blocks_rest;
  }

  /// Effects: called before the heap grows by `pages`: when it pays, what is stashed, or rests in
  /// `cached` (no_cache), goes back to its slabs: now until `left` is spent, then in later misses.
  /// O(classes + blocks). Returns: bytes to take now: what went back, if there is more to do.
  template <class Cached>
  ASHLAR_MISS std::size_t before_growth(Cached cached, std::size_t pages,
                                        step_budget& left) noexcept {
    if (!bounds_.sums_before_growth()) return SIZE_MAX;
    if (is_sorting()) {
      paid_pages_.fetch_add(pages, relaxed);
    } else if (!cached.gives_more(sorting_round())) {
      if (!begin_sorting(centrals_.resting() + cached.resting(), pages)) return SIZE_MAX;
      make_due();
    }
    std::size_t bytes = cached.give_resting(sorting_round(), left);
    bytes += sort_back(left);
    return is_sorting() || cached.gives_more(sorting_round()) ? bytes : SIZE_MAX;
  }

  /// Effects: called when memory was refused: sorts back all that rests in stashes and `cached`.
  /// Waits for whoever has a slab on no list meanwhile: its pages leave, or it is deleted.
  template <class Cached>
  void sort_all(Cached cached) noexcept {
    cached.give_all();
    centrals_.settle();
    const std::lock_guard looks(mutex_);
    centrals_.wait();
  }

  /// Effects: called when an owner of a cache has ended that moved so many blocks to and from the
  /// centrals: sorts stashes back, if that pays. Then the next owner finds the fullest slabs first,
  /// and not blocks scattered over all that there ever were.
  void at_end(std::size_t moved_blocks) noexcept {
    const resting_blocks all = centrals_.resting();
    if (all.blocks <= moved_blocks && all.bytes >= std::max(bounds_.settle_bytes_min, held_.now()))
      centrals_.settle();
  }

  /// Effects: sorts all stashes back, gives back every free page. Returns: the bytes.
  std::size_t give_back_all() noexcept {
    centrals_.settle();
    reclaim_progress all{.at_once = true};
    {
      const std::lock_guard guard(mutex_);
      cursor_ = begun_ = {};
      step_budget endless = step_budget::without_end();
      while (look_at_slabs(all, SIZE_MAX, endless)) {
      }
    }
    return all.bytes + supply_.purge_all();
  }

  /// Effects: the next step of a scan: a class's stashes are sorted back, or some runs go back,
  /// or the free pages of some slabs. No lock is held afterwards. Returns: false when `scan` has
  /// come to its end.
  bool step(reclaim_progress& scan) noexcept {
    const std::lock_guard guard(mutex_);
    step_budget left(instructions_a_step);
    return go_on_with(scan, left);
  }

  /// Effects: misses scan next at `ms`; at `never` not at all, since another thread does.
  void let_misses_reclaim(std::uint64_t ms) noexcept {
    due_ms_.store(ms, relaxed);
    stepped_pages_.store(supply_.grown_pages(), relaxed);
    next_ms_.store(ms, relaxed);
  }
  /// Effects: the next miss scans, unless another thread does: there is a new delay.
  void forget_time() noexcept {
    if (misses_reclaim()) let_misses_reclaim(0);
  }

  /// For a fork.
  void lock() noexcept {
    mutex_.lock();
    is_busy_ = false;  // the thread that is at work is not in the child
  }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  /// What a step of another thread does at most: a miss does not wait for its locks for long.
  static constexpr std::size_t instructions_a_step = 32'000;

  /// Idleness. Rounds through all slabs once idle memory has grown: one sees which blocks nobody
  /// used, one sorts them, one gives pages back, one is for blocks freed meanwhile. Growth by less
  /// than idle_bytes_min, or than an eighth, does not count.
  static constexpr unsigned draining_rounds = 4;
  static constexpr std::size_t idle_bytes_min = std::size_t{1} << 20;
  static constexpr std::size_t idle_before_share = 8;

  /// Growth to come. So many blocks may be sorted back for each page.
  static constexpr std::size_t sorted_a_page = 64;

  /// Growth. Pages leave where the idle bytes of all slabs are at least a quarter of what is held,
  /// and only those of classes of which more than an eighth is idle, and an eighth of that was
  /// taken at most since the last step. Each page of growth pays for a slab to be passed, and for
  /// so many pages to leave. A look into a slab costs as much as look_cost to pass, and a page that
  /// leaves pays for half a look.
  static constexpr std::size_t growth_step = (std::size_t{1} << 20) / page_size;
  static constexpr std::size_t leaving_each = 8;
  static constexpr std::size_t idle_share = 4;
  static constexpr std::size_t idle_share_of_class = 8;
  static constexpr std::size_t taken_share_of_idle = 8;
  static constexpr std::size_t look_cost = 4;

  [[nodiscard]] bool misses_reclaim() const noexcept { return next_ms_.load(relaxed) != never; }
  /// Effects: the next miss comes by, whether or not it is time to scan.
  void make_due() noexcept {
    if (misses_reclaim()) next_ms_.store(0, relaxed);
  }

  /// Effects: goes on with what is under way, and begins what is due, until `left` is spent. One
  /// thread does this at a time; others sort only. Requires: delay_ms >= 0.
  ASHLAR_MISS void go_on(std::uint64_t now_ms, std::int64_t delay_ms, const void* cache,
                         step_budget& left) noexcept {
    sort_back(left);
    if (mutex_.try_lock()) {
      const std::lock_guard guard(mutex_, std::adopt_lock);
      std::uint64_t seen = next_ms_.load(relaxed);
      if (now_ms < seen || is_busy_) return;
      is_busy_ = true;
      const bool grows = give_back_for_growth(left);
      const bool ages = give_back_old(now_ms, delay_ms, cache, left);
      is_busy_ = false;
      const std::uint64_t next = grows || ages ? 0 : due_ms_.load(relaxed);
      // Not where another thread has been told to scan since.
      static_cast<void>(next_ms_.compare_exchange_strong(seen, next, relaxed));
    }
    if (is_sorting()) make_due();
  }

  // ---- age and idleness: all below require that the lock is held ------------------------------

  /// Effects: goes on with the scan of misses, or begins one if it is due; the next one is half a
  /// delay later. Returns: whether there is more to do.
  bool give_back_old(std::uint64_t now_ms, std::int64_t delay_ms, const void* cache,
                     step_budget& left) noexcept {
    if (!looks_ && now_ms >= due_ms_.load(relaxed)) {
      looks_ = true;
      of_misses_ = {};
      note_idle();
      const auto wait = static_cast<std::uint64_t>(reclaim_interval_ms(delay_ms));
      due_ms_.store(now_ms + wait, relaxed);
    }
    while (looks_ && left.is_left()) {
      looks_ = go_on_with(of_misses_, left);
      if (!looks_ && of_misses_.saw_last_slab && draining_rounds_ != 0) --draining_rounds_;
    }
    const bool is_urgent = looks_ && draining_rounds_ != 0;
    if (!is_urgent || cache != nullptr) draining_.store(is_urgent ? cache : nullptr, relaxed);
    return looks_;
  }

  /// Effects: if more is idle than held, and more than before, caches drain for the next rounds.
  /// Pages that have left count as idle, too: so what is idle all the time is dealt with once.
  void note_idle() noexcept {
    const std::size_t committed = supply_.committed_bytes(), held = held_.now();
    const std::size_t idle = committed - std::min(committed, held);
    idle_before_ = std::min(idle_before_, idle);
    if (idle <= held || idle < idle_before_ + idle_before_ / idle_before_share + idle_bytes_min)
      return;
    idle_before_ = idle;
    draining_rounds_ = draining_rounds;
  }

  /// Effects: as `reclaimer::step`, until `left` is spent, one step at least. The lock is open
  /// while blocks are sorted back: a fault that is found there may run code of the program.
  ASHLAR_MISS bool go_on_with(reclaim_progress& scan, step_budget& left) noexcept {
    for (; scan.next_class < classes::count(); ++scan.next_class) {
      if (!left.is_left()) return true;
      auto& c = centrals_[static_cast<class_index>(scan.next_class)];
      left.spend<space_type>(step::class_passed);
      if (!c.has_resting()) continue;
      const unlock_guard open(mutex_);
      if (scan.at_once) {
        step_budget all = step_budget::without_end();
        c.settle(all);
      } else if (!c.settle_unused(left)) {
        return true;
      }
      ++scan.next_class;
      return true;
    }
    if (scan.next_bin != pages_type::supply_type::dirty_bins_end) {
      scan.bytes += supply_.purge_aged(scan.next_bin, scan.at_once, left);
      return true;
    }
    if (supply_.is_sealed() || !supply_.has_more_than_kept()) {
      scan.saw_last_slab = true;
      return false;
    }
    return look_at_slabs(scan, bounds_.slabs_a_scan, left);
  }

  /// Effects: gives back free pages of the next slabs, until `scan` has seen `most` or the last
  /// one, or `left` is spent. Returns: whether there is more to do.
  bool look_at_slabs(reclaim_progress& scan, std::size_t most, step_budget& left) noexcept {
    while (scan.slabs < most && !supply_.is_sealed()) {
      if (!left.is_left()) return true;
      const slab_place place = next_slab(left);
      if (place.is_end()) {
        scan.saw_last_slab = true;
        break;
      }
      if (place.size_class == 0) continue;  // the work is spent
      if (may_be_hollow(classes::shape(place.size_class)))
        scan.bytes += give_back_pages(place, scan.at_once, left);
      else
        pass(place);
      if (seen_pages_ == 0) ++scan.slabs;
    }
    return false;
  }

  /// Returns: the slab at the cursor; behind the last one, a place for which is_end, and the first
  /// one is next. A place of class 0 where `left` is spent before.
  [[nodiscard]] slab_place next_slab(step_budget& left) noexcept {
    const slab_place place = pages_.next_slab(cursor_, left);
    cursor_ = place.is_end() ? slab_place{} : place;
    if (place.is_end() || (place.size_class != 0 && place != begun_)) {
      begun_ = cursor_;
      seen_pages_ = 0;
    }
    return place;
  }
  /// Effects: the cursor passes the slab, which it is at.
  void pass(slab_place place) noexcept {
    cursor_.page += classes::shape(place.size_class).pages;
    seen_pages_ = 0;
  }
  /// Effects: as central::give_back_free_pages for as many pages of the slab at the cursor as
  /// `left` pays for, one at least. The cursor passes the slab when all were seen. Returns: the
  /// bytes.
  std::size_t give_back_pages(slab_place place, bool at_once, step_budget& left) noexcept {
    const std::uint32_t pages = classes::shape(place.size_class).pages;
    left.spend<space_type>(step::slab_looked_at);
    const std::size_t some = left.steps_left(step::page_looked_at, pages - seen_pages_);
    left.spend<space_type>(step::page_looked_at, some);
    const slab_part part{seen_pages_, seen_pages_ + static_cast<std::uint32_t>(some)};
    seen_pages_ = part.end;
    if (part.end == pages) pass(place);
    return centrals_[place.size_class].give_back_free_pages(place, part, at_once);
  }

  // ---- growth to come: no lock is held --------------------------------------------------------

  [[nodiscard]] bool is_sorting() const noexcept { return next_sorted_.load(relaxed) != 0; }
  /// Returns: the number of the last round of sorting: 1 is the first. A cache gives once in each
  /// what rests in it.
  [[nodiscard]] std::uint32_t sorting_round() const noexcept {
    return sorting_round_.load(relaxed);
  }

  /// Effects: sorting is under way, if it pays to sort back `all` before growth by `pages`. The
  /// heap's growth since the last time pays for it. Where memory only goes to and fro between
  /// classes, a little more of it is cheaper than sorting each time. Much is sorted back after any
  /// growth. A little is, too, once the heap has grown enough: few blocks may hold many slabs back.
  bool begin_sorting(const resting_blocks& all, std::size_t pages) noexcept {
    const std::size_t paid = paid_pages_.load(relaxed);
    const bool is_much = all.bytes >= bounds_.settle_bytes_min;
    if (all.blocks == 0 || (is_much ? paid == 0 : all.blocks > paid * sorted_a_page)) {
      paid_pages_.fetch_add(pages, relaxed);
      return false;
    }
    paid_pages_.store(0, relaxed);
    to_sort_.store(all.blocks, relaxed);
    next_sorted_.store(1, relaxed);
    sorting_round_.fetch_add(1, relaxed);
    return true;
  }

  /// Effects: goes on to sort stashes back, if that is under way, until `left` is spent. Several
  /// threads may, each with what the others have left. Returns: the bytes that went back to slabs.
  std::size_t sort_back(step_budget& left) noexcept {
    std::size_t c = next_sorted_.load(relaxed), bytes = 0;
    if (c == 0) return 0;
    // What others sort back at the same time may be counted once only: then a little more is.
    std::size_t rest = to_sort_.load(relaxed);
    for (; c < classes::count() && rest != 0 && left.is_left(); ++c) {
      left.spend<space_type>(step::class_passed);
      auto& central = centrals_[static_cast<class_index>(c)];
      if (!central.has_resting()) continue;
      const resting_blocks sorted = central.settle(left, rest);
      rest -= sorted.blocks;
      bytes += sorted.bytes;
      if (!left.is_left()) break;  // it may have more
    }
    to_sort_.store(rest, relaxed);
    const bool is_done = rest == 0 || c == classes::count();
    next_sorted_.store(is_done ? 0 : c, relaxed);
    return bytes;
  }

  // ---- growth: all but the first require that the lock is held --------------------------------

  [[nodiscard]] bool has_grown_a_step() const noexcept {
    return supply_.grown_pages() >= stepped_pages_.load(relaxed) + growth_step;
  }

  /// Effects: goes on with what growth has begun, or begins it, until `left` is spent. Returns:
  /// whether there is more to do.
  bool give_back_for_growth(step_budget& left) noexcept {
    if (supply_.is_sealed()) {
      stepped_pages_.store(supply_.grown_pages(), relaxed);
      return false;
    }
    if (next_summed_ == 0 && has_grown_a_step()) {
      next_summed_ = 1;
      idle_ = absent_ = 0;
    }
    if (next_summed_ != 0) sum_up_idle(left);
    if (next_summed_ == 0) give_back_idle(left);
    return next_summed_ != 0 || paid_ != 0;
  }

  /// Effects: sums up what is idle in slabs, class by class, and which classes' pages are to leave.
  /// At the end, if enough is idle and no step found more in memory, the growth has paid for it.
  void sum_up_idle(step_budget& left) noexcept {
    for (; next_summed_ < classes::count(); ++next_summed_) {
      if (!left.is_left()) return;
      const auto c = static_cast<class_index>(next_summed_);
      if (!may_be_hollow(classes::shape(c))) continue;
      left.spend<space_type>(step::class_summed);
      const slab_bytes of_class = centrals_[c].bytes_of_slabs();
      const std::uint64_t taken = of_class.taken - std::exchange(taken_before_[c], of_class.taken);
      idle_ += of_class.idle;
      absent_ += of_class.absent;
      leaves_[c] = of_class.idle > of_class.blocks / idle_share_of_class &&
                   taken <= of_class.idle / taken_share_of_idle;
    }
    next_summed_ = 0;
    const std::size_t now = supply_.grown_pages();
    const std::size_t grown = now - std::min(now, stepped_pages_.exchange(now, relaxed));
    const std::size_t committed = supply_.committed_bytes();
    const std::size_t resident = committed - std::min(committed, absent_);
    const bool is_peak = resident >= resident_peak_;
    resident_peak_ = std::max(resident_peak_, resident);
    if (!is_peak || idle_ < held_.now() / idle_share || !supply_.has_more_than_kept()) return;
    paid_ += grown;
    leaving_ += grown * leaving_each;
    times_round_ = 0;
  }

  /// Effects: goes on round the slabs and gives back free pages of the classes that are to leave,
  /// as far as growth has paid for it.
  void give_back_idle(step_budget& left) noexcept {
    while (paid_ != 0 && leaving_ != 0 && left.is_left()) {
      const slab_place place = next_slab(left);
      if (place.is_end() && ++times_round_ == 2) paid_ = 0;
      if (place.is_end() || place.size_class == 0) continue;
      const bool begins = seen_pages_ == 0;
      if (begins) --paid_;
      if (!leaves_[place.size_class]) {
        pass(place);
        continue;
      }
      if (begins) paid_ -= std::min(paid_, look_cost - 1);
      const std::size_t gone = give_back_pages(place, true, left) >> page_shift;
      paid_ += gone * look_cost / 2;
      leaving_ -= std::min(leaving_, gone);
    }
    if (paid_ == 0 || leaving_ == 0) paid_ = leaving_ = 0;
  }

  Centrals& centrals_;
  pages_type& pages_;
  typename pages_type::supply_type& supply_;
  const heap_bounds& bounds_;
  const held_bytes& held_;
  typename ranked<Mutex, lock_rank::scan>::type mutex_;  ///< one thread at a time looks into slabs
  slab_place cursor_;
  slab_place begun_;              ///< the last slab that was looked at
  std::uint32_t seen_pages_ = 0;  ///< of that slab; 0: the cursor has passed it
  bool is_busy_ = false;          ///< a miss is at work, and may have opened the lock

  // Age and idleness.
  std::atomic<std::uint64_t> next_ms_{0};  ///< when a miss has to come by
  std::atomic<std::uint64_t> due_ms_{0};   ///< when misses begin the next scan
  reclaim_progress of_misses_;
  bool looks_ = false;                          ///< of_misses_ is under way
  std::atomic<const void*> draining_{nullptr};  ///< the cache whose next calls should be misses
  unsigned draining_rounds_ = 0;                ///< to come
  std::size_t idle_before_ = 0;  ///< bytes, when caches last began to drain, or less since

  // Growth to come.
  std::atomic<std::size_t> paid_pages_{0};  ///< that the heap has grown since sorting last began
  std::atomic<std::uint32_t> sorting_round_{0};
  std::atomic<std::size_t> next_sorted_{0};  ///< the class whose stash is sorted back; 0: none is
  std::atomic<std::size_t> to_sort_{0};      ///< so many more blocks at most

  // Growth.
  std::atomic<std::size_t> stepped_pages_{0};              ///< grown_pages() at the last step
  std::size_t next_summed_ = 0;                            ///< the class to sum up next; 0: none is
  std::size_t idle_ = 0, absent_ = 0;                      ///< bytes, of the classes before it
  std::size_t resident_peak_ = 0;                          ///< bytes, of the steps before
  std::array<std::uint64_t, class_count> taken_before_{};  ///< bytes, at the step before
  std::array<bool, class_count> leaves_{};                 ///< whose free pages are to leave
  std::size_t paid_ = 0, leaving_ = 0;  ///< for so many slabs to pass, and so many pages to leave
  unsigned times_round_ = 0;            ///< so often all slabs were passed since the last step
};

}  // namespace detail
}  // namespace ashlar
