// heap/upkeep.hpp: what calls do for the whole heap besides what they were asked for.
// Layer: heap.
//
//   before the heap grows   stashes and the caller's cache are sorted back, if that pays
//   after it has grown      free pages of slabs leave, if much is idle
//   after a miss            whatever of this is not done yet, and looks, when it is time
//
// Law: a call does no more of it than it has work left (work_left.hpp). What is left waits for the
// next miss, of whatever thread. Two cases do all of it at once: memory that the system or a budget
// refuses, and a thread that ends.
// Thread-safety: any caller at any time, with no lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/central_set.hpp>
#include <ashlar/heap/heap_bounds.hpp>
#include <ashlar/heap/looks.hpp>
#include <ashlar/heap/sealable.hpp>
#include <ashlar/heap/settling.hpp>
#include <ashlar/heap/work_left.hpp>

namespace ashlar::detail {

template <address_space Space, class Mutex, class Classes>
class upkeep {
 public:
  using centrals_type = central_set<Space, Mutex, Classes>;
  using pages_type = typename centrals_type::pages_type;

  /// Requires: all of them outlive it.
  constexpr upkeep(sealable<Space>& space, centrals_type& centrals, pages_type& pages,
                   const heap_bounds& bounds) noexcept
      : space_(space), centrals_(centrals), pages_(pages), bounds_(bounds) {}

  /// Effects: called before the heap grows by `pages`: when it pays, what is stashed, or rests in
  /// `cached`, begins to go back to its slabs, so that those which become empty serve instead.
  /// O(classes), plus the work that is left.
  template <class Cached>
  [[gnu::noinline]] void before_growth(Cached cached, std::size_t pages, work_left& work) noexcept {
    if (!bounds_.misses_keep_up) return;
    if (!settling_.is_under_way()) {
      const resting_blocks all =
          centrals_.resting([cached](class_index c) { return cached.resting(c); });
      work.spend(cost::class_counted * Classes::count());
      if (!settling_.pays_before_growth(all, pages, bounds_.settle_bytes_min)) return;
      settling_.begin(Classes::count() - 1);
      cached.begin_giving();
    }
    go_on_settling(cached, work);
  }

  /// Effects: the heap cannot grow: all that rests in stashes and `cached` is sorted back, whatever
  /// it costs. Returns: whether there was anything.
  template <class Cached>
  bool settle_all(Cached cached) noexcept {
    if (centrals_.resting([cached](class_index c) { return cached.count(c); }).blocks == 0)
      return false;
    cached.give_all();
    centrals_.settle(pages_);
    return true;
  }

  /// Effects: called after a request that may have made the heap grow, while callers and caches hold
  /// `held` bytes: as looks::after_growth. Growth by `avoidable` pages, for which blocks that are
  /// being sorted back come too late, pays for nothing.
  void after_growth(std::size_t held, std::size_t avoidable, work_left& work) noexcept {
    if (!bounds_.misses_keep_up) return;
    if (settling_.is_under_way()) looks_.forget_growth(avoidable);
    looks_.after_growth(centrals_, pages_, held, work);
  }

  /// Effects: goes on with all that has begun; if it is time to look, begins to give back what nobody
  /// has needed for a while. Called by a cache's misses, with no lock held: a heap that is not used
  /// at all does not look.
  template <class Cached>
  void after_miss(Cached cached, work_left& work) noexcept {
    if (!bounds_.misses_keep_up) return;
    if (settling_.is_under_way()) [[unlikely]]
      go_on_settling(cached, work);
    const std::int64_t delay = pages_.delay_ms();
    const bool is_time = delay >= 0 && looks_.is_time(space_.now_ms(), delay);
    if (is_time || looks_.is_behind()) [[unlikely]]
      looks_.go_on(centrals_, pages_, bounds_.slabs_a_look, work);
  }

  /// Effects: called when an owner of a cache has ended that moved so many blocks to and from the
  /// centrals, and callers hold `held` bytes: when it pays, sorts the stashes back.
  void after_owner(std::size_t moved_blocks, std::size_t held) noexcept {
    const auto all = centrals_.resting([](class_index) { return std::size_t{0}; });
    if (settling::pays_at_end(all, moved_blocks, held, bounds_.settle_bytes_min))
      centrals_.settle(pages_);
  }

  /// Effects: sorts everything back, and gives back every free page. Returns: the bytes.
  std::size_t trim() noexcept {
    centrals_.settle(pages_);
    const std::size_t bytes = looks_.give_back_all(centrals_, pages_);
    return bytes + pages_.purge_all();
  }

  // What each of these does, shared_heap.hpp says.
  bool look_step(look_progress& look) noexcept {
    return looks_.step(look, centrals_, pages_, bounds_.slabs_a_look);
  }
  void let_misses_look(bool on) noexcept {
    if (on)
      looks_.let_misses_look(space_.now_ms() + static_cast<std::uint64_t>(look_interval_ms() + 1));
    else
      looks_.let_others_look();
  }
  void forget_time() noexcept { looks_.forget_time(); }
  [[nodiscard]] std::int64_t look_interval_ms() const noexcept {
    return detail::look_interval_ms(pages_.delay_ms());
  }

  /// For a fork.
  void lock() noexcept { looks_.lock(); }
  void unlock() noexcept { looks_.unlock(); }

 private:
  template <class Cached>
  ASHLAR_COLD void go_on_settling(Cached cached, work_left& work) noexcept {
    cached.give_resting(work);
    while (work.any()) {
      const class_index c = settling_.next_class();
      if (c == 0 || (centrals_[c].stashed() != 0 && !centrals_[c].settle(pages_, work))) return;
      settling_.done(c);
    }
  }

  sealable<Space>& space_;
  centrals_type& centrals_;
  pages_type& pages_;
  const heap_bounds& bounds_;
  settling settling_;
  looks<centrals_type, Mutex, Classes> looks_;
};

}  // namespace ashlar::detail
