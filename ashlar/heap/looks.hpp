// heap/looks.hpp: looking, from time to time, for what nobody has needed for a while.
// Layer: heap.
//
//   a look:  stashes, class by class -> free runs -> pages inside slabs
//
// A cache's miss looks when it is time, and so does a thread that was started for it. A miss does what
// it may (work_bound.hpp), and the next misses go on until the look is at its end. Where most memory is
// idle, caches see to it that the next calls miss (basic_heap::brings_on_misses). The thread looks in steps,
// with no lock held between two of them. Looks at slabs go round: the next one begins where the last one
// ended.
//
// Growth does not wait for a look. Each 1 MiB (growth_step) that the heap grows is a step. Where free
// blocks in slabs then have a quarter of the bytes that callers and caches hold, and no step found
// more in memory before, free pages leave at once: those of classes that hardly anybody took blocks
// of since the step before. Else the heap would hold its old pages beside the new ones.
//
// Law: of the misses that find that it is time, one looks at once; the others go on allocating. For n pages
// of growth, 8 n pages leave at most, and those of the slab that is looked at last. A heap that does
// not grow to a new peak keeps its pages between looks: each page that leaves too early costs a page
// fault (docs/decisions/0005-how-idle-memory-goes-back.md).
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
#include <ashlar/heap/page_heap.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/heap/unlock_guard.hpp>
#include <ashlar/heap/work_bound.hpp>

namespace ashlar {

/// How far a look at what can be given back has come (basic_heap::look_step).
struct look_progress {
  bool at_once = false;  ///< all that is free, however short a time: memory is needed elsewhere
  std::size_t next_class = 1;
  unsigned next_bin = 0;       ///< of free runs
  std::size_t slabs = 0;       ///< looked at
  bool saw_last_slab = false;  ///< the next look begins at the first slab again
  std::size_t bytes = 0;       ///< given back
};

namespace detail {

/// Returns: milliseconds between two looks; negative when free pages never go back.
[[nodiscard]] constexpr std::int64_t look_interval_ms(std::int64_t delay_ms) noexcept {
  return delay_ms < 0 ? -1 : delay_ms / 2 + 1;
}

template <class Centrals, class Mutex, class Classes>
class looks {
 public:
  using pages_type = typename Centrals::pages_type;

  /// Returns: whether a miss has to look now, or to go on.
  [[nodiscard]] bool is_time(std::uint64_t now_ms) const noexcept {
    return now_ms >= next_ms_.load(std::memory_order_relaxed);
  }
  /// Returns: whether the next misses of the owner of `cache` should come soon: it was the last to go on with a look,
  /// most memory is idle, and more than when looks last saw to that.
  [[nodiscard]] bool wants_misses(const void* cache) const noexcept {
    return wanted_.load(std::memory_order_relaxed) == cache &&
           next_ms_.load(std::memory_order_relaxed) != others_look;
  }
  /// Effects: the next miss looks: the time of the next look was set by an old delay.
  void forget_time() noexcept {
    due_ms_.store(0, std::memory_order_relaxed);
    hurry();
  }
  /// Effects: the next miss comes by, whether or not it is time to look.
  void hurry() noexcept {
    if (next_ms_.load(std::memory_order_relaxed) == others_look) return;
    next_ms_.store(0, std::memory_order_relaxed);
  }
  /// Effects: misses look next at `next_ms`.
  void let_misses_look(std::uint64_t next_ms) noexcept {
    due_ms_.store(next_ms, std::memory_order_relaxed);
    next_ms_.store(next_ms, std::memory_order_relaxed);
  }
  /// Effects: misses do not look: another thread does.
  void let_others_look() noexcept { next_ms_.store(others_look, std::memory_order_relaxed); }

  /// Effects: called by a miss when is_time: goes on with the look that misses have begun, or begins one if
  /// it is due; the next one is half a delay later. Ends when `left` is spent, or when the look has come to its
  /// end. One thread does this at a time; others do nothing. `held` are the bytes that callers and caches have.
  /// `cache` is the caller's, or null. Requires: delay_ms >= 0.
  void go_on(std::uint64_t now_ms, std::int64_t delay_ms, Centrals& centrals, pages_type& pages,
             std::size_t slabs_a_look, std::size_t held, const void* cache, work& left) noexcept {
    if (!mutex_.try_lock()) return;
    const std::lock_guard guard(mutex_, std::adopt_lock);
    std::uint64_t seen = next_ms_.load(std::memory_order_relaxed);
    if (now_ms < seen || is_looking_) return;
    is_looking_ = true;
    if (goes_on_.load(std::memory_order_relaxed)) give_back_for_growth(centrals, pages, left);
    if (!of_misses_goes_on_ && now_ms >= due_ms_.load(std::memory_order_relaxed)) {
      of_misses_goes_on_ = true;
      of_misses_ = {};
      note_idle(pages.committed_bytes(), held);
      const auto wait = static_cast<std::uint64_t>(look_interval_ms(delay_ms));
      due_ms_.store(now_ms + wait, std::memory_order_relaxed);
    }
    while (of_misses_goes_on_ && left.is_left()) {
      of_misses_goes_on_ = step_locked(of_misses_, centrals, pages, slabs_a_look, left);
      if (!of_misses_goes_on_ && of_misses_.saw_last_slab && urgent_rounds_ != 0) --urgent_rounds_;
    }
    const bool is_urgent = of_misses_goes_on_ && urgent_rounds_ != 0;
    if (!is_urgent || cache != nullptr)
      wanted_.store(is_urgent ? cache : nullptr, std::memory_order_relaxed);
    is_looking_ = false;
    const bool goes_on = of_misses_goes_on_ || goes_on_.load(std::memory_order_relaxed);
    const std::uint64_t next = goes_on ? 0 : due_ms_.load(std::memory_order_relaxed);
    // Not where another thread has been told to look since.
    static_cast<void>(next_ms_.compare_exchange_strong(seen, next, std::memory_order_relaxed));
  }

  /// Effects: the next step of a look: a class's stash is sorted back, or some runs are given back, or the
  /// free pages of some slabs, `slabs_a_look` in the whole look. No lock is held afterwards. Returns: false
  /// when `look` has come to its end.
  bool step(look_progress& look, Centrals& centrals, pages_type& pages,
            std::size_t slabs_a_look) noexcept {
    const std::lock_guard guard(mutex_);
    work left(work_a_step);
    return step_locked(look, centrals, pages, slabs_a_look, left);
  }

  /// Effects: gives back every free page inside slabs, from the first slab to the last. Returns:
  /// the bytes.
  std::size_t give_back_all(Centrals& centrals, pages_type& pages) noexcept {
    const std::lock_guard guard(mutex_);
    next_slab_ = {};
    work all = work::without_end();
    std::size_t count = SIZE_MAX;
    return give_back_free_pages(count, true, centrals, pages, all);
  }

  /// Effects: called after a request that may have made the heap grow: if it has grown by a step, to
  /// a peak, and much is idle in slabs, free pages of classes that rest go back, until `left` is spent; then
  /// the next misses go on. `held` are the bytes that callers and caches have. Nothing where free pages never
  /// go back, or where misses do not look. O(1), but for each step of growth O(classes + its pages), plus
  /// the system calls.
  void after_growth(Centrals& centrals, pages_type& pages, std::size_t held, work& left) noexcept {
    const std::size_t grown = pages.grown_pages();
    const bool steps = grown >= grown_before_.load(std::memory_order_relaxed) + growth_step;
    if (!steps && !goes_on_.load(std::memory_order_relaxed)) [[likely]]
      return;
    if (pages.delay_ms() < 0 || next_ms_.load(std::memory_order_relaxed) == others_look ||
        pages.is_sealed()) {
      grown_before_.store(grown, std::memory_order_relaxed);
      return;
    }
    if (!mutex_.try_lock()) return;
    const std::lock_guard guard(mutex_, std::adopt_lock);
    if (steps && next_summed_ == 0) {
      next_summed_ = 1;
      idle_ = absent_ = 0;
      idle_min_ = held / idle_share;
      grown_ = grown - grown_before_.load(std::memory_order_relaxed);
      grown_before_.store(grown, std::memory_order_relaxed);
    }
    give_back_for_growth(centrals, pages, left);
    if (goes_on_.load(std::memory_order_relaxed)) hurry();
  }

  /// For a fork.
  void lock() noexcept {
    mutex_.lock();
    is_looking_ = false;  // the thread that looks is not in the child
  }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  /// What a step of another thread does at most, so that a miss does not wait for its locks for long.
  static constexpr std::size_t work_a_step = 32'000;
  /// A time of the next look that never comes.
  static constexpr std::uint64_t others_look = UINT64_MAX;

  /// How much the heap grows before free pages inside slabs leave for it. Pages.
  static constexpr std::size_t growth_step = (std::size_t{1} << 20) / page_size;
  /// So many pages leave at most for each page of growth.
  static constexpr std::size_t leaving_each = 8;
  /// Pages leave where the idle bytes of all slabs are at least a quarter of what is held, and only
  /// those of classes of which more than an eighth is idle, and an eighth of that was taken at most
  /// since the last step.
  static constexpr std::size_t idle_share = 4;
  static constexpr std::size_t idle_share_of_class = 8;
  static constexpr std::size_t taken_share_of_idle = 8;
  /// Work is counted in slabs that are passed. Each page of growth pays for one. A look into a slab
  /// costs as much as this many, and a page that leaves pays for half a look.
  static constexpr std::size_t look_cost = 4;

  /// So often looks go round all slabs when more has become idle: blocks in stashes are seen to rest, then go to their
  /// slabs, whose free pages leave at the next round. One round more, for what is freed during the first.
  static constexpr unsigned urgent_rounds = 4;
  /// Less is not worth a miss. Bytes.
  static constexpr std::size_t idle_min = std::size_t{1} << 20;
  /// What was idle before is not news, with an eighth of it.
  static constexpr std::size_t idle_before_share = 8;

  /// Effects: if most of `committed` bytes is idle, and more than before, the next rounds of looks are urgent. Pages that
  /// have left count as idle, too: so what is idle all the time is looked at once. Requires: the lock is held.
  void note_idle(std::size_t committed, std::size_t held) noexcept {
    const std::size_t idle = committed - std::min(committed, held);
    idle_before_ = std::min(idle_before_, idle);
    if (idle <= held || idle < idle_before_ + idle_before_ / idle_before_share + idle_min) return;
    idle_before_ = idle;
    urgent_rounds_ = urgent_rounds;
  }

  static void spend_on_slab(const slab_shape& shape, work& left) noexcept {
    left.spend<typename Centrals::space_type>(turn::slab_looked_at);
    left.spend<typename Centrals::space_type>(turn::page_looked_at, shape.pages);
  }

  /// As `step`, until `left` is spent, one turn at least. Requires: the lock is held. It is open while blocks
  /// are sorted back: a fault that is found there may run code of the program.
  bool step_locked(look_progress& look, Centrals& centrals, pages_type& pages,
                   std::size_t slabs_a_look, work& left) noexcept {
    using space = typename Centrals::space_type;
    for (; look.next_class < Classes::count(); ++look.next_class) {
      if (!left.is_left()) return true;
      auto& c = centrals[static_cast<class_index>(look.next_class)];
      left.spend<space>(turn::class_passed);
      if (c.stashed() == 0) continue;
      const unlock_guard open(mutex_);
      if (look.at_once) {
        work all = work::without_end();
        c.settle(pages, all);
      } else if (!c.settle_unused(pages, left)) {
        return true;
      }
      ++look.next_class;
      return true;
    }
    if (look.next_bin != pages_type::dirty_bins_end) {
      look.bytes += pages.purge_aged(look.next_bin, look.at_once, left);
      return true;
    }
    if (look.slabs >= slabs_a_look) return false;
    if (pages.is_sealed() || !pages.has_more_than_kept()) {
      look.saw_last_slab = true;
      return false;
    }
    const std::size_t most = slabs_a_look - look.slabs;
    std::size_t count = most;
    look.bytes += give_back_free_pages(count, look.at_once, centrals, pages, left);
    look.slabs += most - count;
    look.saw_last_slab = next_slab_.range == 0 && next_slab_.page == 0;
    return !look.saw_last_slab;
  }

  /// Effects: goes on with what growth has begun, until `left` is spent. Requires: the lock is held.
  ASHLAR_MISS void give_back_for_growth(Centrals& centrals, pages_type& pages,
                                        work& left) noexcept {
    if (next_summed_ != 0) sum_up_idle(centrals, pages, left);
    give_back_from_idle(centrals, pages, left);
    goes_on_.store(next_summed_ != 0 || paid_ != 0, std::memory_order_relaxed);
  }

  /// Effects: sums up what is idle in slabs, class by class, until `left` is spent. At the end, if that is
  /// `idle_min_` bytes, and no step found more in memory, free pages of classes that have many and rest are to
  /// leave. Requires: the lock is held.
  void sum_up_idle(Centrals& centrals, pages_type& pages, work& left) noexcept {
    for (; next_summed_ < Classes::count() && left.is_left(); ++next_summed_) {
      const auto c = static_cast<class_index>(next_summed_);
      if (!may_be_hollow(Classes::shape(c))) continue;
      left.spend<typename Centrals::space_type>(turn::class_summed);
      const slab_bytes of_class = centrals[c].bytes_of_slabs();
      const std::uint64_t taken = of_class.taken - std::exchange(taken_before_[c], of_class.taken);
      idle_ += of_class.idle;
      absent_ += of_class.absent;
      summed_leaves_[c] = of_class.idle > of_class.blocks / idle_share_of_class &&
                          taken <= of_class.idle / taken_share_of_idle;
    }
    if (next_summed_ < Classes::count()) return;
    next_summed_ = 0;
    const std::size_t committed = pages.committed_bytes();
    const std::size_t resident = committed - std::min(committed, absent_);
    const bool is_peak = resident >= resident_peak_;
    resident_peak_ = std::max(resident_peak_, resident);
    if (!is_peak || idle_ < idle_min_ || !pages.has_more_than_kept()) return;
    leaves_ = summed_leaves_;
    paid_ += grown_;
    leaving_ += grown_ * leaving_each;
    rounds_ = 0;
  }

  /// Effects: goes on round the slabs and gives back free pages of the classes that are to leave, as far as
  /// growth has paid for it. Requires: the lock is held.
  void give_back_from_idle(Centrals& centrals, pages_type& pages, work& left) noexcept {
    while (paid_ != 0 && leaving_ != 0 && left.is_left()) {
      const slab_place place = pages.next_slab(next_slab_, left);
      if (place.is_end()) {
        next_slab_ = {};
        if (++rounds_ == 2) paid_ = 0;
        continue;
      }
      next_slab_ = place;
      const class_index c = place.size_class;
      if (c == 0) continue;  // the work is spent
      next_slab_.page += Classes::shape(c).pages;
      --paid_;
      if (!leaves_[c]) continue;
      paid_ -= std::min(paid_, look_cost - 1);
      spend_on_slab(Classes::shape(c), left);
      const std::size_t gone = centrals[c].give_back_free_pages(pages, place, true) >> page_shift;
      paid_ += gone * look_cost / 2;
      leaving_ -= std::min(leaving_, gone);
    }
    if (paid_ == 0 || leaving_ == 0) paid_ = leaving_ = 0;
  }

  /// Effects: looks at the next `count` slabs, and gives back their free pages; begins anew after
  /// the last one, with `count` 0. Until `left` is spent; `count` is then how many are left. Returns: the
  /// bytes. Requires: the lock is held.
  std::size_t give_back_free_pages(std::size_t& count, bool at_once, Centrals& centrals,
                                   pages_type& pages, work& left) noexcept {
    if (pages.is_sealed()) return 0;
    std::size_t bytes = 0;
    while (count != 0 && left.is_left()) {
      const slab_place place = pages.next_slab(next_slab_, left);
      if (place.is_end()) {
        next_slab_ = {};
        count = 0;
        break;
      }
      next_slab_ = place;
      if (place.size_class == 0) break;
      --count;
      const slab_shape& shape = Classes::shape(place.size_class);
      next_slab_.page += shape.pages;
      if (!may_be_hollow(shape)) continue;
      spend_on_slab(shape, left);
      bytes += centrals[place.size_class].give_back_free_pages(pages, place, at_once);
    }
    return bytes;
  }

  std::atomic<std::uint64_t> next_ms_{0};     ///< when a miss has to come by
  std::atomic<std::uint64_t> due_ms_{0};      ///< when misses begin the next look
  std::atomic<const void*> wanted_{nullptr};  ///< the cache whose misses should come soon
  std::atomic<std::size_t> grown_before_{0};  ///< pages that growth has been dealt with
  typename ranked<Mutex, lock_rank::slabs>::type mutex_;  ///< one thread at a time looks into slabs
  slab_place next_slab_;
  look_progress of_misses_;
  bool of_misses_goes_on_ = false;
  bool is_looking_ = false;      ///< a miss goes on with that, and may have opened the lock
  std::size_t idle_before_ = 0;  ///< bytes, when rounds were last urgent, or less since
  unsigned urgent_rounds_ = 0;   ///< to come
  // What the last steps of growth found. Written under the lock.
  std::array<std::uint64_t, class_count> taken_before_{};  ///< bytes, by class
  std::size_t resident_peak_ = 0;
  std::array<bool, class_count> leaves_{};  ///< classes whose free pages are to leave
  std::size_t paid_ = 0, leaving_ = 0;      ///< for so much work, and so many pages
  unsigned rounds_ = 0;                     ///< so often all slabs were passed since the last step
  std::size_t next_summed_ = 0;             ///< the class to sum up next; 0: no step is under way
  std::size_t idle_ = 0, absent_ = 0;       ///< bytes, of the classes before it
  std::size_t idle_min_ = 0, grown_ = 0;    ///< bytes, pages: of the step
  std::array<bool, class_count> summed_leaves_{};
  std::atomic<bool> goes_on_{false};  ///< whether there is more to do
};

}  // namespace detail
}  // namespace ashlar
