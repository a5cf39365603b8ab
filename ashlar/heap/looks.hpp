// heap/looks.hpp: looking, from time to time, for what nobody has needed for a while.
// Layer: heap.
//
//   a look:  stashes, class by class -> free runs, 64 a step -> pages inside slabs, 64 slabs a step
//
// When it is time, the misses of caches look, and so does a thread that was started for it. A look is
// made of steps, with no lock held between two of them. A miss goes on with the look while it has
// work left, and the next miss goes on from there. Looks at slabs go round: the next one begins where
// the last one ended.
//
// Growth does not wait for a look. When the heap has grown by 1 MiB (growth_step) since the last
// time, and free blocks in slabs have a quarter of the bytes that callers and caches hold, free
// pages of slabs leave at once, in the same way by and by. Else the heap would hold its old pages
// beside the new ones.
//
// Law: one miss at a time looks; the others go on allocating. For n pages of growth, 8 n pages leave
// at most, and those of the slab that is looked at last. A heap that does not grow keeps its pages
// between looks: each page that leaves too early costs a page fault
// (docs/decisions/0036-growth-gives-free-pages-back.md).
// Thread-safety: any caller at any time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <ashlar/core/config.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/page_heap.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/heap/work_left.hpp>

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

  /// Effects: if it is time, a look of the misses begins, and the next one is half a delay later.
  /// Returns: whether it is time. Requires: delay_ms >= 0.
  [[nodiscard]] bool is_time(std::uint64_t now_ms, std::int64_t delay_ms) noexcept {
    std::uint64_t next = next_ms_.load(std::memory_order_relaxed);
    if (now_ms < next) [[likely]]
      return false;
    // One thread moves the time on.
    const auto wait = static_cast<std::uint64_t>(look_interval_ms(delay_ms));
    if (!next_ms_.compare_exchange_strong(next, now_ms + wait, std::memory_order_relaxed))
      return false;
    look_is_due_.store(true, std::memory_order_relaxed);
    is_behind_.store(true, std::memory_order_relaxed);
    return true;
  }
  /// Returns: whether misses have something to go on with.
  [[nodiscard]] bool is_behind() const noexcept {
    return is_behind_.load(std::memory_order_relaxed);
  }
  /// Effects: goes on with what growth has paid for, and with the look that has begun, while there is
  /// work left. Nothing while another thread does.
  ASHLAR_COLD void go_on(Centrals& centrals, pages_type& pages, std::size_t slabs_a_look,
                         work_left& work) noexcept {
    if (!mutex_.try_lock()) return;
    const std::lock_guard guard(mutex_, std::adopt_lock);
    const bool others_do = next_ms_.load(std::memory_order_relaxed) == others_look;
    if (others_do) paid_ = 0;
    if (paid_ != 0) go_on_leaving(centrals, pages, work);
    if (look_is_due_.exchange(false, std::memory_order_relaxed) && !is_looking_) {
      is_looking_ = true;
      own_look_ = {};
    }
    if (others_do || pages.delay_ms() < 0) is_looking_ = false;
    while (is_looking_ && work.any())
      is_looking_ = look_at_rest(own_look_, centrals, pages, work) ||
                    look_at_slabs(own_look_, centrals, pages, slabs_a_look, work);
    if (paid_ == 0 && !is_looking_) is_behind_.store(false, std::memory_order_relaxed);
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
    work_left work = work_left::endless();
    if (look_at_rest(look, centrals, pages, work)) return true;
    const std::lock_guard guard(mutex_);
    return look_at_slabs(look, centrals, pages, slabs_a_look, work);
  }

  /// Effects: gives back every free page inside slabs, from the first slab to the last. Returns:
  /// the bytes.
  std::size_t give_back_all(Centrals& centrals, pages_type& pages) noexcept {
    const std::lock_guard guard(mutex_);
    next_slab_ = {};
    work_left work = work_left::endless();
    std::size_t count = SIZE_MAX;
    return give_back_free_pages(count, true, centrals, pages, work);
  }

  /// Effects: growth by `pages` pays for nothing.
  void forget_growth(std::size_t pages) noexcept {
    grown_before_.fetch_add(pages, std::memory_order_relaxed);
  }

  /// Effects: called after a request that may have made the heap grow. If it has grown by a step,
  /// and much is idle in slabs, free pages inside slabs go back: as much of that as there is work
  /// left for, and the rest at later misses. `held` are the bytes that callers and caches have.
  /// Nothing where free pages never go back, or where misses do not look.
  void after_growth(Centrals& centrals, pages_type& pages, std::size_t held,
                    work_left& work) noexcept {
    std::size_t before = grown_before_.load(std::memory_order_relaxed);
    const std::size_t grown = pages.grown_pages();
    if (grown < before + growth_step || before > grown) [[likely]]
      return;
    // The thread that notes the growth does the work.
    if (!grown_before_.compare_exchange_strong(before, grown, std::memory_order_relaxed)) return;
    const std::size_t idle_min = held / idle_share;
    const bool waits =
        pages.delay_ms() < 0 || next_ms_.load(std::memory_order_relaxed) == others_look;
    if (waits || pages.committed_bytes() < held + idle_min) return;
    if (pages.is_sealed() || !pages.has_more_than_kept() || !mutex_.try_lock()) return;
    const std::lock_guard guard(mutex_, std::adopt_lock);
    if (paid_ == 0) {
      next_asked_ = 1;
      idle_ = rounds_ = leaving_ = 0;
      idle_min_ = idle_min;
    }
    paid_ += grown - before;
    leaving_ += (grown - before) * leaving_each;
    is_behind_.store(true, std::memory_order_relaxed);
    go_on_leaving(centrals, pages, work);
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
  /// those of classes of which more than an eighth is idle.
  static constexpr std::size_t idle_share = 4;
  static constexpr std::size_t idle_share_of_class = 8;
  /// Work is counted in slabs that are passed. Each page of growth pays for one. A look into a slab
  /// costs as much as this many, and a page that leaves pays for half a look.
  static constexpr std::size_t look_cost = 4;

  /// Effects: goes on with what growth has paid for: asks each class how much of it is idle. If that
  /// is enough, goes on round the slabs and gives back free pages of classes that have many.
  /// Requires: the lock is held; something is paid.
  ASHLAR_COLD void go_on_leaving(Centrals& centrals, pages_type& pages, work_left& work) noexcept {
    for (; next_asked_ < Classes::count(); ++next_asked_) {
      if (!work.any()) return;
      const auto c = static_cast<class_index>(next_asked_);
      if (!may_be_hollow(Classes::shape(c))) continue;
      work.spend(cost::class_asked);
      const slab_bytes of_class = centrals[c].bytes_of_slabs();
      idle_ += of_class.idle;
      has_many_[c] = of_class.idle > of_class.blocks / idle_share_of_class;
    }
    if (idle_ < idle_min_ || pages.is_sealed()) paid_ = 0;
    while (paid_ != 0 && leaving_ != 0) {
      if (!work.any()) return;
      const slab_place place = pages.next_slab(next_slab_, work);
      next_slab_ = place;
      if (place.size_class == 0) {
        if (place.is_first() && ++rounds_ == 2) break;
        continue;
      }
      const class_index c = place.size_class;
      if (has_many_[c] && !work.affords(cost::of_search(Classes::shape(c).pages))) return;
      next_slab_.page += Classes::shape(c).pages;
      --paid_;
      work.spend(cost::run_passed);
      if (!has_many_[c]) continue;
      paid_ -= std::min(paid_, look_cost - 1);
      const std::size_t gone =
          centrals[c].give_back_free_pages(pages, place, true, work) >> page_shift;
      paid_ += gone * look_cost / 2;
      leaving_ -= std::min(leaving_, gone);
    }
    paid_ = 0;
  }

  /// Effects: goes on with the look, up to the slabs: a class's stash, or some runs. Returns: false
  /// when all of them are done.
  [[nodiscard]] bool look_at_rest(look_progress& look, Centrals& centrals, pages_type& pages,
                                  work_left& work) noexcept {
    for (; look.next_class < Classes::count(); ++look.next_class) {
      auto& c = centrals[static_cast<class_index>(look.next_class)];
      if (c.stashed() == 0) continue;
      if (look.at_once ? c.settle(pages, work) : c.settle_unused(pages, work)) ++look.next_class;
      return true;
    }
    if (look.runs_are_done) return false;
    const auto purged = pages.purge_aged(work, runs_a_step, look.at_once);
    look.bytes += purged.bytes;
    look.runs_are_done = purged.complete;
    return true;
  }

  /// Effects: goes on with the look at slabs. Returns: false when the look has come to its end.
  /// Requires: the lock is held.
  [[nodiscard]] bool look_at_slabs(look_progress& look, Centrals& centrals, pages_type& pages,
                                   std::size_t slabs_a_look, work_left& work) noexcept {
    if (look.slabs >= slabs_a_look) return false;
    if (pages.is_sealed() || !pages.has_more_than_kept()) {
      look.saw_last_slab = true;
      return false;
    }
    const std::size_t count = std::min(slabs_a_step, slabs_a_look - look.slabs);
    std::size_t left = count;
    look.bytes += give_back_free_pages(left, look.at_once, centrals, pages, work);
    look.slabs += count - left;
    look.saw_last_slab = next_slab_.is_first();
    return !look.saw_last_slab;
  }

  /// Effects: looks at the next `count` slabs while there is work left, and gives back their free
  /// pages; `count` is what is left then. After the last slab it stops, and begins anew the next
  /// time. Returns: the bytes. Requires: the lock is held.
  std::size_t give_back_free_pages(std::size_t& count, bool at_once, Centrals& centrals,
                                   pages_type& pages, work_left& work) noexcept {
    if (pages.is_sealed()) return 0;
    std::size_t bytes = 0;
    while (count != 0 && work.any()) {
      const slab_place place = pages.next_slab(next_slab_, work);
      next_slab_ = place;
      if (place.size_class == 0) {
        if (place.is_first()) break;
        continue;
      }
      const slab_shape& shape = Classes::shape(place.size_class);
      if (!work.affords(cost::of_search(shape.pages))) break;
      if (may_be_hollow(shape))
        bytes += centrals[place.size_class].give_back_free_pages(pages, place, at_once, work);
      next_slab_.page += shape.pages;
      work.spend(cost::run_passed);
      --count;
    }
    return bytes;
  }

  std::atomic<std::uint64_t> next_ms_{0};
  std::atomic<std::size_t> grown_before_{0};              ///< pages that growth has been dealt with
  std::atomic<bool> is_behind_{false};                    ///< misses have something to go on with
  std::atomic<bool> look_is_due_{false};                  ///< a look of the misses is to begin
  typename ranked<Mutex, lock_rank::slabs>::type mutex_;  ///< one thread at a time looks into slabs
  // What follows is written under the lock.
  slab_place next_slab_;
  bool is_looking_ = false;
  look_progress own_look_;  ///< of the misses
  // What growth has paid for: slabs to pass, pages to leave; 0: nothing is under way.
  std::size_t paid_ = 0, leaving_ = 0;
  std::size_t next_asked_ = 1;  ///< the class that is asked next how much of it is idle
  std::size_t idle_ = 0, idle_min_ = 0;
  std::size_t rounds_ = 0;  ///< how often the last slab was passed
  std::array<bool, class_count> has_many_{};
};

}  // namespace detail
}  // namespace ashlar
