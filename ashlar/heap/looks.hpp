// heap/looks.hpp: looking, from time to time, for what nobody has needed for a while.
// Layer: heap.
//
//   a look:  stashes, class by class -> free runs, 64 a step -> pages inside slabs, 64 slabs a step
//
// A cache's miss looks when it is time, and so does a thread that was started for it. A look is
// made of steps, with no lock held between two of them. Looks at slabs go round: the next one
// begins where the last one ended.
//
// Growth does not wait for a look. Each 1 MiB (growth_step) that the heap grows is a step. Where free
// blocks in slabs then have a quarter of the bytes that callers and caches hold, and no step found
// more in memory before, free pages leave at once: those of classes that hardly anybody took blocks
// of since the step before. Else the heap would hold its old pages beside the new ones.
//
// Law: of the misses that find that it is time, one looks; the others go on allocating. For n pages
// of growth, 8 n pages leave at most, and those of the slab that is looked at last. A heap that does
// not grow to a new peak keeps its pages between looks: each page that leaves too early costs a page
// fault (docs/decisions/0036-growth-gives-free-pages-back.md).
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

namespace ashlar {

/// How far a look at what can be given back has come (basic_heap::look_step).
struct look_progress {
  bool at_once = false;  ///< all that is free, however short a time: memory is needed elsewhere
  std::size_t next_class = 1;
  bool runs_are_done = false;
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

  /// Effects: if it is time, the next look is half a delay later. Returns: whether it is time, and
  /// this caller has to look. Requires: delay_ms >= 0.
  [[nodiscard]] bool is_time(std::uint64_t now_ms, std::int64_t delay_ms) noexcept {
    std::uint64_t next = next_ms_.load(std::memory_order_relaxed);
    if (now_ms < next) [[likely]]
      return false;
    // The thread that moves the time on does the work.
    const auto wait = static_cast<std::uint64_t>(look_interval_ms(delay_ms));
    return next_ms_.compare_exchange_strong(next, now_ms + wait, std::memory_order_relaxed);
  }
  /// Effects: the next miss looks: the time of the next look was set by an old delay.
  void forget_time() noexcept {
    if (next_ms_.load(std::memory_order_relaxed) == others_look) return;
    next_ms_.store(0, std::memory_order_relaxed);
  }
  /// Effects: misses look next at `next_ms`.
  void let_misses_look(std::uint64_t next_ms) noexcept {
    next_ms_.store(next_ms, std::memory_order_relaxed);
  }
  /// Effects: misses do not look: another thread does.
  void let_others_look() noexcept { next_ms_.store(others_look, std::memory_order_relaxed); }

  /// Effects: the next step of a look: one class's stash is sorted back, or some runs are given
  /// back, or the free pages of some slabs, `slabs_a_look` in the whole look. No lock is held
  /// afterwards. Returns: false when `look` has come to its end.
  bool step(look_progress& look, Centrals& centrals, pages_type& pages,
            std::size_t slabs_a_look) noexcept {
    for (; look.next_class < Classes::count(); ++look.next_class) {
      auto& c = centrals[static_cast<class_index>(look.next_class)];
      if (c.stashed() == 0) continue;
      if (look.at_once)
        c.settle(pages);
      else
        c.settle_unused(pages);
      ++look.next_class;
      return true;
    }
    if (!look.runs_are_done) {
      const auto purged = pages.purge_aged(runs_a_step, look.at_once);
      look.bytes += purged.bytes;
      look.runs_are_done = purged.complete;
      return true;
    }
    if (look.slabs >= slabs_a_look) return false;
    if (pages.is_sealed() || !pages.has_more_than_kept()) {
      look.saw_last_slab = true;
      return false;
    }
    const std::lock_guard guard(mutex_);
    const std::size_t count = std::min(slabs_a_step, slabs_a_look - look.slabs);
    look.bytes += give_back_free_pages(count, look.at_once, centrals, pages);
    look.slabs += count;
    look.saw_last_slab = next_slab_.range == 0 && next_slab_.page == 0;
    return !look.saw_last_slab;
  }

  /// Effects: gives back every free page inside slabs, from the first slab to the last. Returns:
  /// the bytes.
  std::size_t give_back_all(Centrals& centrals, pages_type& pages) noexcept {
    const std::lock_guard guard(mutex_);
    next_slab_ = {};
    return give_back_free_pages(SIZE_MAX, true, centrals, pages);
  }

  /// Effects: called after a request that may have made the heap grow: if it has grown by a step, to
  /// a peak, and much is idle in slabs, free pages of classes that rest go back. `held` are the bytes that callers
  /// and caches have. Nothing where free pages never go back, or where misses do not look.
  /// O(1), but for each step of growth O(classes + its pages), plus the system calls.
  void after_growth(Centrals& centrals, pages_type& pages, std::size_t held) noexcept {
    std::size_t before = grown_before_.load(std::memory_order_relaxed);
    const std::size_t grown = pages.grown_pages();
    if (grown < before + growth_step) [[likely]]
      return;
    // The thread that notes the growth does the work.
    if (!grown_before_.compare_exchange_strong(before, grown, std::memory_order_relaxed)) return;
    if (pages.delay_ms() < 0 || next_ms_.load(std::memory_order_relaxed) == others_look) return;
    if (pages.is_sealed() || !pages.has_more_than_kept() || !mutex_.try_lock()) return;
    const std::lock_guard guard(mutex_, std::adopt_lock);
    give_back_from_idle(grown - before, held / idle_share, centrals, pages);
  }

  /// For a fork.
  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  /// What one step does at most: so many system calls, or so many slabs to look into.
  static constexpr std::size_t runs_a_step = 64;
  static constexpr std::size_t slabs_a_step = 64;
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

  /// Effects: the heap has grown by `grown` pages. If `idle_min` bytes in slabs are idle, and no step
  /// found more in memory, goes on round the slabs and gives back free pages of classes that have many
  /// and rest. Requires: the lock is held.
  ASHLAR_COLD void give_back_from_idle(std::size_t grown, std::size_t idle_min, Centrals& centrals,
                                       pages_type& pages) noexcept {
    std::array<bool, class_count> leaves{};
    std::size_t idle = 0, absent = 0;
    for (std::size_t i = 1; i < Classes::count(); ++i) {
      const auto c = static_cast<class_index>(i);
      if (!may_be_hollow(Classes::shape(c))) continue;
      const slab_bytes of_class = centrals[c].bytes_of_slabs();
      const std::uint64_t taken = of_class.taken - std::exchange(taken_before_[c], of_class.taken);
      idle += of_class.idle;
      absent += of_class.absent;
      leaves[c] = of_class.idle > of_class.blocks / idle_share_of_class &&
                  taken <= of_class.idle / taken_share_of_idle;
    }
    const std::size_t committed = pages.committed_bytes();
    const std::size_t resident = committed - std::min(committed, absent);
    const bool is_peak = resident >= resident_peak_;
    resident_peak_ = std::max(resident_peak_, resident);
    if (!is_peak || idle < idle_min) return;
    std::size_t paid = grown, leaving = grown * leaving_each;
    for (std::size_t rounds = 0; paid != 0 && leaving != 0;) {
      const slab_place place = pages.next_slab(next_slab_);
      if (place.size_class == 0) {
        next_slab_ = {};
        if (++rounds == 2) return;
        continue;
      }
      const class_index c = place.size_class;
      next_slab_ = {.range = place.range, .page = place.page + Classes::shape(c).pages};
      --paid;
      if (!leaves[c]) continue;
      paid -= std::min(paid, look_cost - 1);
      const std::size_t gone = centrals[c].give_back_free_pages(pages, place, true) >> page_shift;
      paid += gone * look_cost / 2;
      leaving -= std::min(leaving, gone);
    }
  }

  /// Effects: looks at the next `count` slabs, and gives back their free pages; begins anew after
  /// the last one. Returns: the bytes. Requires: the lock is held.
  std::size_t give_back_free_pages(std::size_t count, bool at_once, Centrals& centrals,
                                   pages_type& pages) noexcept {
    if (pages.is_sealed()) return 0;
    std::size_t bytes = 0;
    for (; count != 0; --count) {
      const slab_place place = pages.next_slab(next_slab_);
      if (place.size_class == 0) {
        next_slab_ = {};
        break;
      }
      const slab_shape& shape = Classes::shape(place.size_class);
      if (may_be_hollow(shape))
        bytes += centrals[place.size_class].give_back_free_pages(pages, place, at_once);
      next_slab_ = {.range = place.range, .page = place.page + shape.pages};
    }
    return bytes;
  }

  std::atomic<std::uint64_t> next_ms_{0};
  std::atomic<std::size_t> grown_before_{0};              ///< pages that growth has been dealt with
  typename ranked<Mutex, lock_rank::slabs>::type mutex_;  ///< one thread at a time looks into slabs
  slab_place next_slab_;
  // What the last steps of growth found. Written under the lock.
  std::array<std::uint64_t, class_count> taken_before_{};  ///< bytes, by class
  std::size_t resident_peak_ = 0;
};

}  // namespace detail
}  // namespace ashlar
