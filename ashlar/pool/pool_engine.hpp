// pool/pool_engine.hpp: what every pool does, over any run of blocks and any policies.
// Layer: pool (freestanding). Users get it as the public face of their pool.
//
// Invariant (audit() checks it):
//   in_use + on_free_list + quarantined + uncarved == capacity of the run
//   in_use == allocations - frees, where calls are counted; == blocks marked live, where checked
//   peak == carved, since a block is carved only when all carved ones are in use (without a
//   quarantine and with one caller at a time; else the peak is counted)
// A fault is reported with the lock released: its handler may look at the pool, and never returns.
// The hit path is try_allocate/deallocate; names that end in _slow are the misses.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/core/address.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/recording.hpp>
#include <ashlar/pool/filled_blocks.hpp>
#include <ashlar/pool/live_cursor.hpp>
#include <ashlar/pool/plain_blocks.hpp>
#include <ashlar/pool/run_traits.hpp>
#include <ashlar/pool/shared_blocks.hpp>

namespace ashlar {

/// A pool's figures; blocks and calls, not bytes, except block_size.
struct pool_stats {
  std::size_t block_size = 0;     ///< bytes that a caller may use of each block
  std::size_t capacity = 0;       ///< blocks the pool may have; SIZE_MAX where nothing bounds it
  std::size_t blocks_made = 0;    ///< blocks that were in use at least once
  std::size_t blocks_in_use = 0;  ///< blocks that callers hold now
  std::size_t peak_in_use = 0;    ///< most that they held at one time
  std::size_t allocations = 0;    ///< calls that got a block of this pool; 0 with counting::none
  std::size_t frees = 0;          ///< blocks that came back; 0 with counting::none
};

namespace detail {

/// How the blocks of a run are taken and given back, as the policies say.
template <class Run, class Lock, class Check>
struct blocks_for {
  using type = plain_blocks<Run>;
};
template <class Run, class Lock, std::size_t N>
  requires(!is_lock_free_policy<Lock>)
struct blocks_for<Run, Lock, check::full<N>> {
  using type = filled_blocks<Run, N>;
};
template <class Run, class Word, class Check>
struct blocks_for<Run, lock_free<Word>, Check> {
  using type = shared_blocks<Run, Word>;
};
template <class Run, class... Policies>
class pool_engine {
 public:
  using exhaustion_type = pick_policy<exhaustion_kind, exhaustion::null, Policies...>;
  using lock_type = pick_policy<lock_kind, no_lock, Policies...>;
  using check_type = pick_policy<check_kind, check::cheap, Policies...>;
  using counting_type = pick_policy<counting_kind, counting::exact, Policies...>;
  using death_type = pick_policy<death_kind, at_death::ignore, Policies...>;
  using name_type = pick_policy<name_kind, unnamed, Policies...>;
  using recording_type = pick_policy<recording_kind, recording::none, Policies...>;

  static constexpr bool is_lock_free = is_lock_free_policy<lock_type>;
  static constexpr bool is_movable =
      std::is_same_v<lock_type, no_lock> && std::is_move_constructible_v<Run>;
  static constexpr bool is_swappable =
      is_movable && Run::is_swappable && std::is_swappable_v<exhaustion_type>;
  static constexpr bool nothrow_allocate = exhaustion_type::nothrow;
  /// Whether the pool knows which of its blocks are in use.
  static constexpr bool tracks_state = check_type::tracks_state;

  static_assert(exhaustion_policy<exhaustion_type>);
  static_assert(!(is_lock_free && check_type::guards_bytes),
                "check::full keeps a quarantine, which needs a lock: not for lock_free");

  pool_engine(const pool_engine&) = delete;
  pool_engine& operator=(const pool_engine&) = delete;

  /// Returns: a block of block_size() bytes at alignment(), its contents unspecified; null when the
  /// pool is empty. The block freed last comes first (not with check::full; of a growing pool that
  /// checks: the last one of the slab in use). Throws: nothing; a
  /// lock that throws ends the program. Complexity: O(1), plus one call of the page source when a
  /// slab is added. Thread-safety: as the lock policy says, for all functions of a pool.
  [[nodiscard]] ASHLAR_HOT void* try_allocate() noexcept {
    void* const p = take();
    record_taken(recording_type{}, *this, p);
    return p;
  }

  /// As try_allocate, but an empty pool asks the exhaustion policy, with no lock held.
  /// Throws: what that policy throws.
  [[nodiscard]] ASHLAR_HOT void* allocate() noexcept(nothrow_allocate) {
    void* const p = try_allocate();
    if constexpr (!std::is_same_v<exhaustion_type, exhaustion::null>) {
      if (p == nullptr) [[unlikely]]
        return exhausted_slow();
    }
    return p;
  }

  /// Effects: takes a block back; null is allowed and does nothing. Requires: `p` came from this
  /// pool (or was borrowed by its exhaustion policy) and is in use; else ashlar_fault if the check
  /// policy sees it, and undefined behaviour if not. Complexity: O(1); where a pool has several
  /// slabs and checks or borrows, O(slabs) but for the slab in use and the one found last. Slabs
  /// are O(log capacity) unless max_slab_blocks or a source that is short of memory keeps them
  /// small.
  ASHLAR_HOT void deallocate(void* p) noexcept { deallocate_as(p, call_name<"deallocate">{}); }
  /// The same for a face that has another name: a fault names `call`, a call_name or a
  /// text that stays.
  template <class Call>
  ASHLAR_HOT void deallocate_as(void* p, Call call) noexcept {
    if constexpr (!null_is_a_miss) {
      if (p == nullptr) [[unlikely]]
        return;
    }
    if constexpr (exhaustion_type::borrows) {
      if (!owns(p)) [[unlikely]]
        return exhaustion_.give_back(p, request());
    }
    record_given(recording_type{}, *this, p);
    if constexpr (is_lock_free) {
      give_shared(p, call);
    } else if constexpr (check_type::guards_bytes) {
      give_guarded_slow(p, call);
    } else {
      scoped_lock guard(lock_);
      if constexpr (tracks_state) {
        const std::size_t n = run_.index_of(p);
        // The number and not the address, which it tells: one register less is kept for the miss.
        if (!blocks_.give(run_, n)) [[unlikely]]
          return give_elsewhere_slow(n, call);
      } else {
        blocks_.give(p);
      }
      tell_given(p);
      counters_.freed();
    }
  }

  /// Returns: whether `p` points into this pool's blocks, in use or not. A block borrowed by the
  /// exhaustion policy is not the pool's. Complexity: as deallocate.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    if constexpr (Run::grows) {
      scoped_lock guard(lock_);
      bool found = false;
      run_.each_run([&](const run_view& run) { found = found || run.contains(p); });
      return found;
    } else {
      return bytes_from(run_.base(), p) < run_.capacity() * run_.stride();
    }
  }

  /// Returns: the bytes that a caller may use of each block.
  [[nodiscard]] constexpr std::size_t block_size() const noexcept { return run_.block_size(); }
  /// Returns: the alignment of every block; at least what was asked for.
  [[nodiscard]] constexpr std::size_t alignment() const noexcept { return run_.alignment(); }
  /// Returns: the distance of two neighbouring blocks, bytes; 0 where the layout cannot exist.
  [[nodiscard]] constexpr std::size_t stride() const noexcept { return run_.stride(); }
  /// Returns: how many blocks the pool may have; SIZE_MAX where nothing bounds it.
  [[nodiscard]] constexpr std::size_t capacity() const noexcept { return run_.limit(); }
  /// Returns: the pool's name, or null.
  [[nodiscard]] static constexpr const char* name() noexcept { return name_type::name(); }
  /// The policy object, for those that have a state.
  [[nodiscard]] exhaustion_type& exhaustion_policy_object() noexcept { return exhaustion_; }

  /// Returns: the figures at one moment (with lock_free: each right, but not of one moment).
  /// Complexity: O(1); with counting::none O(free blocks), and with lock_free as well only while
  /// nobody else calls; the peak of a check::full or lock_free pool is then blocks_made, an upper
  /// bound.
  [[nodiscard]] pool_stats stats() const noexcept {
    return locked([this] { return read_stats(); });
  }

  /// Returns: whether the invariant at the head of this file holds; with check::full also whether
  /// every canary and every freed byte is as it was left. Complexity: O(capacity). With lock_free:
  /// only while nobody else calls.
  [[nodiscard]] bool audit() const noexcept {
    return locked([this] { return audit_counts(); });
  }

 protected:
  template <class... RunArguments>
  constexpr explicit pool_engine(exhaustion_type exhaustion, RunArguments&&... run) noexcept
      : exhaustion_(std::move(exhaustion)), run_(std::forward<RunArguments>(run)...) {}

  /// Blocks keep their addresses; `other` is left with capacity 0. Requires: nobody uses `other`.
  pool_engine(pool_engine&& other) noexcept
    requires is_movable
      : blocks_(std::exchange(other.blocks_, {})),
        counters_(std::exchange(other.counters_, {})),
        exhaustion_(std::move(other.exhaustion_)),
        run_(std::move(other.run_)) {
    tell_moved(&other, this);
  }

  /// Blocks and memory change sides; both keep their addresses. Requires: nobody uses either.
  void swap_with(pool_engine& other) noexcept
    requires is_swappable
  {
    using std::swap;
    swap(blocks_, other.blocks_);
    swap(counters_, other.counters_);
    swap(exhaustion_, other.exhaustion_);
    swap(run_, other.run_);
    tell_moved(this, &run_);  // for the time being: nobody else's name for anything
    tell_moved(&other, this);
    tell_moved(&run_, &other);
  }

  /// Effects: visit(p) for each block in use, with no lock held.
  template <class Visit>
  void each_live(Visit visit) const {
    live_cursor<Run> at = locked([&] { return live_cursor<Run>(run_); });
    while (std::byte* const p = locked([&] { return at.next(); })) visit(p);
  }

  // Trivial where nothing is to be done: a static pool then serves until the last static
  // destructor has run.
  ~pool_engine()
    requires(!death_type::reports && !tools_present)
  = default;
  ~pool_engine()
    requires(death_type::reports || tools_present)
  {
    if constexpr (death_type::reports) {
      if (const std::size_t left = blocks_in_use(); left != 0) leak_slow(left);
    }
    if constexpr (tools_present) {
      tell_ended(this);
      run_.each_run([this](const run_view& run) {
        tell_returned(this, run.base, run.capacity * run.stride);
      });
    }
  }

  /// Effects: ashlar_fault unless `p` is a block in use, where states are tracked: for a `destroy`,
  /// which is about to run a destructor in it.
  void require_live(const void* p) const noexcept {
    if constexpr (check_type::tracks_state) {
      if constexpr (is_lock_free) {
        if (!blocks_.is_live(run_, p)) [[unlikely]]
          bad_free_slow(p, call_name<"destroy">{});
      } else {
        scoped_lock guard(lock_);
        if (!blocks_.is_live(run_, p)) [[unlikely]] {
          lock_.unlock();
          bad_free_slow(p, call_name<"destroy">{});
        }
      }
    }
  }
  using run_type = Run;
  [[nodiscard]] Run& run() noexcept { return run_; }
  [[nodiscard]] const Run& run() const noexcept { return run_; }

  [[nodiscard]] exhaustion_request request() const noexcept {
    return {run_.block_size(), run_.alignment(), name()};
  }

 private:
  using counters_type =
      counters_for<counting_type, is_lock_free, (check_type::guards_bytes || is_lock_free)>;
  static constexpr bool counts = counting_type::counts;
  /// Measured: a count in front of the pop takes a fifth off a pair of a pool whose storage is
  /// elsewhere, and adds a tenth to one whose storage is inside (Intel Xeon).
  static constexpr bool counts_first = is_movable;
  /// Null is no block's address either, so where nothing is done before the look at the address,
  /// the hit path has no look at null. Not under a lock, which null is to leave alone.
  static constexpr bool null_is_a_miss = Run::traits::numbered &&
                                         std::is_same_v<lock_type, no_lock> &&
                                         !check_type::guards_bytes && !exhaustion_type::borrows;

  /// Returns: look(), with the lock held where there is one.
  template <class Look>
  auto locked(Look look) const {
    if constexpr (is_lock_free) {
      return look();
    } else {
      scoped_lock guard(lock_);
      return look();
    }
  }

  /// Returns: a block, or null when there is none.
  [[nodiscard]] ASHLAR_HOT void* take() noexcept {
    if constexpr (is_lock_free) {
      void* const p = blocks_.take(run_);
      if (p == nullptr) [[unlikely]]
        return nullptr;
      counters_.allocated();
      tell_taken(p);
      return p;
    } else if constexpr (check_type::guards_bytes) {
      return take_guarded_slow();
    } else {
      scoped_lock guard(lock_);
      if constexpr (counts_first) counters_.allocated();
      void* p = nullptr;
      if constexpr (tracks_state) {
        const std::size_t n = blocks_.take(run_);
        if (n == 0) [[unlikely]]
          return take_fresh();
        p = run_.at(n);
      } else {
        p = blocks_.take();
        if (p == nullptr) [[unlikely]]
          return take_fresh();
      }
      tell_taken(p);
      if constexpr (!counts_first) counters_.allocated();
      return p;
    }
  }

  // ---- what tools are told: free blocks and the slack of used ones are closed ----

  [[nodiscard]] constexpr bool may_tell() const noexcept {
    return Run::traits::may_tell({run_.block_size(), run_.alignment(), run_.stride()});
  }
  ASHLAR_HOT void tell_taken(const void* p) const noexcept {
    if constexpr (tools_present) {
      if (may_tell()) tell_made({this, name()}, p, run_.block_size(), run_.stride());
    }
  }
  ASHLAR_HOT void tell_given(const void* p) const noexcept {
    if constexpr (tools_present) {
      if (may_tell()) tell_freed(this, p, run_.stride());
    }
  }

  /// Returns: a block that is not on the list; null, and not counted, when there is none. Not
  /// inlined and not cold: a program that fills its pool comes here for each block.
  [[nodiscard, gnu::noinline]] void* take_fresh() noexcept {
    if constexpr (!counts_first) counters_.allocated();
    const std::size_t i = run_.advance_here();
    if (i == Run::traits::none) [[unlikely]] {
      if constexpr (Run::grows) return take_next_slow();
      counters_.not_allocated();
      return nullptr;
    }
    void* const p = run_.at(i);
    tell_taken(p);
    return p;
  }
  [[nodiscard]] ASHLAR_COLD void* take_next_slow() noexcept {
    void* const p = blocks_.take_next(run_);
    if (p == nullptr)
      counters_.not_allocated();
    else
      tell_taken(p);
    return p;
  }

  /// Effects: as deallocate of the address with index `n`, which is not in use in the slab in use:
  /// null, a block of another slab, or a misuse, which is reported with the lock released.
  ASHLAR_COLD void give_elsewhere_slow(std::size_t n, const char* call) noexcept {
    void* const p = run_.address_of(n);
    if (p == nullptr) return;
    if (blocks_.give_aside(run_, p)) {
      tell_given(p);
      counters_.freed();
      return;
    }
    lock_.unlock();
    bad_free_slow(p, call);
  }

  [[nodiscard]] ASHLAR_COLD void* take_guarded_slow() noexcept {
    scoped_lock guard(lock_);
    const auto got = blocks_.take(run_);
    if (got.block == nullptr) return nullptr;
    if (!got.intact) {
      lock_.unlock();
      report_slow(fault_kind::use_after_free, "allocate", got.block);
    }
    counters_.allocated();
    tell_taken(got.block);
    return got.block;
  }

  ASHLAR_COLD void give_guarded_slow(void* freed, const char* call) noexcept {
    scoped_lock guard(lock_);
    auto* const p = static_cast<std::byte*>(freed);
    if (!blocks_.is_live(run_, p)) {
      lock_.unlock();
      bad_free_slow(p, call);
    }
    if (!blocks_.is_canary_intact(run_, p)) {
      lock_.unlock();
      report_slow(fault_kind::overflow, call, p);
    }
    blocks_.fill_freed(run_, p);
    counters_.freed();
    tell_given(p);
    if (const std::byte* const written = blocks_.keep(run_, p)) {
      lock_.unlock();
      report_slow(fault_kind::use_after_free, call, written);
    }
  }

  template <class Call>
  void give_shared(void* p, Call call) noexcept {
    const std::size_t i = run_.index_of(p);
    if (!blocks_.claim(run_, i)) [[unlikely]]
      bad_free_slow(p, call);
    counters_.freed();
    tell_given(p);
    blocks_.give(run_, i);
  }

  // ---- misses and reports ----

  [[nodiscard]] ASHLAR_COLD void* exhausted_slow() noexcept(nothrow_allocate) {
    return exhaustion_.exhausted(request(), [this]() noexcept { return try_allocate(); });
  }

  [[noreturn]] ASHLAR_COLD void report_slow(fault_kind kind, const char* call,
                                            const void* p) const noexcept {
    ashlar_fault({kind, call, p, run_.block_size(), name()});
  }
  ASHLAR_COLD void leak_slow(std::size_t left) const noexcept {
    const fault what{fault_kind::leak, "~pool", nullptr, run_.block_size(), name(), left};
    if constexpr (death_type::stops) {
      ashlar_fault(what);
    } else {
      ashlar_report(what);
    }
  }
  /// Requires: `p` cannot be freed.
  [[noreturn]] ASHLAR_COLD void bad_free_slow(const void* p, const char* call) const noexcept {
    fault_kind kind = fault_kind::foreign_pointer;
    run_.each_run([&](const run_view& run) {
      if (run.contains(p)) kind = judge(run, p);
    });
    report_slow(kind, call, p);
  }

  // ---- figures ----

  [[nodiscard]] std::size_t blocks_in_use() const noexcept {
    if constexpr (counts) {
      return counters_.in_use();
    } else {
      return run_.blocks_made() - blocks_.free_count(run_) - blocks_.quarantined();
    }
  }
  [[nodiscard]] pool_stats read_stats() const noexcept {
    pool_stats s;
    s.block_size = run_.block_size();
    s.capacity = run_.limit();
    s.blocks_made = run_.blocks_made();
    s.blocks_in_use = blocks_in_use();
    s.peak_in_use = s.blocks_made;
    if constexpr (counts) {
      s.allocations = counters_.allocations;
      s.frees = counters_.frees;
      if constexpr (requires { counters_.peak(); }) s.peak_in_use = counters_.peak();
    }
    return s;
  }
  [[nodiscard]] bool audit_counts() const noexcept {
    const std::size_t listed = blocks_.free_count(run_);
    const std::size_t made = run_.blocks_made();
    if (listed == SIZE_MAX || made > run_.capacity()) return false;
    std::size_t live = made - listed - blocks_.quarantined();
    if constexpr (counts) live = counters_.in_use();
    if (live + listed + blocks_.quarantined() + (run_.capacity() - made) != run_.capacity())
      return false;
    if constexpr (check_type::tracks_state) {
      std::size_t marked = 0;
      bool intact = true;
      run_.each_run([&](const run_view& run) {
        for (std::size_t i = 0; i < run.carved; ++i) {
          const bool in_use = run.template is_live<typename Run::traits>(i);
          if (in_use) ++marked;
          if constexpr (check_type::guards_bytes) {
            intact = intact && blocks_.is_intact(run_, run.base + i * run.stride, in_use);
          }
        }
      });
      if (marked != live || !intact) return false;
    }
    return true;
  }

  // Hot fields first: a static pool's storage may be larger than the reach of a short load.
  [[no_unique_address]] typename blocks_for<Run, lock_type, check_type>::type blocks_;
  [[no_unique_address]] counters_type counters_;
  [[no_unique_address]] mutable lock_type lock_;
  [[no_unique_address]] exhaustion_type exhaustion_;
  Run run_;
};

}  // namespace detail
}  // namespace ashlar
