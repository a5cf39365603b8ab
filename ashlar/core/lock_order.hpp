// core/lock_order.hpp: the order in which a thread may take the library's locks.
// Layer: core (freestanding).
//
//   lock_rank              the order; each of the library's locks is declared with its rank
//   ranked<M, Rank>::type  the mutex M itself; in a build that checks the order, one that looks
//   lock_level             a stretch in which the order begins anew
//   unlock_guard           one in which a held lock is open
//
// Law: a thread that holds a lock takes only locks of higher ranks. There are three exceptions:
// - A fork takes the locks of all classes (lock_rank::central), and who adds up a class takes those
//   of its two sides: in the order of their addresses.
// - A heap calls its source with locks held. The source may be another heap, with locks of the same
//   ranks: the order begins anew there (lock_level).
// - try_lock never waits, so it may take any lock.
//
// A build checks the law where CMake's ASHLAR_CHECK_LOCKS is on (presets debug, asan-ubsan, tsan).
// Each thread then keeps what it holds, and a lock out of order ends in ashlar_fault. Elsewhere
// nothing of this is compiled. A lock that a program chooses for its pool has no rank: the pool may
// call a heap, and no heap calls a pool but as its source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>

namespace ashlar::detail {

/// The order: a lock is taken before those that stand below it here.
enum class lock_rank : std::uint8_t {
  heap_lives,       ///< instance, one: that a heap instance begins or ends, or the process forks
  reserve_figures,  ///< runtime, one a generation of the reserve heap: its figures
  checks,           ///< check, one a heap: the records of full checks, and their queue
  guards,           ///< check, one: the slots of guarded blocks
  samples,          ///< check, one: the sampled blocks
  caches,           ///< heap, one a heap, as all of heap: the lists of caches
  start,            ///< heap: that the heap starts, once
  scan,             ///< heap: that one thread looks into slabs
  central,          ///< heap, two a class, one a side: its stash and slabs
  purge,            ///< pages: that one thread purges
  pages,            ///< pages: runs of pages, ranges, slots of stashes
  pieces,           ///< instance, one a heap instance: the pieces that its source gave
  heap_links,       ///< instance, one: the list of heap instances, and who keeps one from ending
  gate_passes,      ///< runtime, one: the list of threads that the fork's gate knows
};
inline constexpr std::size_t lock_ranks = static_cast<std::size_t>(lock_rank::gate_passes) + 1;

/// Returns: the name that a fault's message gives.
[[nodiscard]] constexpr const char* name_of(lock_rank rank) noexcept {
  constexpr const char* names[lock_ranks] = {
      "heap_lives", "reserve_figures", "checks", "guards", "samples", "caches",     "start",
      "scan",       "central",         "purge",  "pages",  "pieces",  "heap_links", "gate_passes"};
  return names[static_cast<std::size_t>(rank)];
}

/// The locks that one thread holds in the present level. It may open locks that it does not hold:
/// after a fork, the child's thread opens locks of threads that do not exist there.
class held_locks {
 public:
  /// Effects: ends in a fault, corrupted, that names both locks, unless the thread may wait for
  /// `lock`, which has that rank.
  void expect_may_take(lock_rank rank, const void* lock) const noexcept {
    const std::size_t own = index(rank);
    for (std::size_t other = own; other < lock_ranks; ++other)
      if (held_[other] != nullptr && !(other == own && is_next_class(rank, lock)))
        fail(rank, lock, name_of(static_cast<lock_rank>(other)));
    if (rank == lock_rank::heap_lives && outer_level_holds_) fail(rank, lock, "a heap's lock");
  }
  void taken(lock_rank rank, const void* lock) noexcept { held_[index(rank)] = lock; }
  void opened(lock_rank rank, const void* lock) noexcept {
    if (held_[index(rank)] == lock) held_[index(rank)] = nullptr;
  }

  /// Returns: what a thread holds in a level that begins inside this one.
  [[nodiscard]] held_locks inner_level() const noexcept {
    held_locks inner;
    inner.outer_level_holds_ = outer_level_holds_;
    for (const void* lock : held_)
      if (lock != nullptr) inner.outer_level_holds_ = true;
    return inner;
  }

 private:
  [[nodiscard]] static constexpr std::size_t index(lock_rank rank) noexcept {
    return static_cast<std::size_t>(rank);
  }
  /// Whether `lock` is that of a later class: they are an array's, and taken from its first on.
  [[nodiscard]] bool is_next_class(lock_rank rank, const void* lock) const noexcept {
    return rank == lock_rank::central && std::less<>{}(held_[index(rank)], lock);
  }
  [[noreturn]] static void fail(lock_rank rank, const void* lock, const char* held) noexcept {
    line_writer<128> call;
    constexpr char end[1] = {};  // `call` is read as a C string
    call << "lock " << name_of(rank) << " while holding " << held << std::string_view(end, 1);
    ashlar_fault({.kind = fault_kind::corrupted, .call = call.data(), .address = lock});
  }

  const void* held_[lock_ranks] = {};  ///< of each rank the lock that was taken last
  bool outer_level_holds_ = false;
};

/// Returns: those of the calling thread. Defined in runtime, in builds that check the order.
[[nodiscard]] held_locks& own_held_locks() noexcept;

/// A Mutex that looks at the order.
template <class Mutex, lock_rank Rank>
class checked_lock {
 public:
  constexpr checked_lock() noexcept = default;
  checked_lock(const checked_lock&) = delete;
  checked_lock& operator=(const checked_lock&) = delete;

  void lock() noexcept {
    own_held_locks().expect_may_take(Rank, this);  // first: what would wait for ever is told, too
    mutex_.lock();
    own_held_locks().taken(Rank, this);
  }
  [[nodiscard]] bool try_lock() noexcept {
    const bool locked = mutex_.try_lock();
    if (locked) own_held_locks().taken(Rank, this);
    return locked;
  }
  void unlock() noexcept {
    own_held_locks().opened(Rank, this);
    mutex_.unlock();
  }

 private:
  Mutex mutex_;
};

/// How the library declares a lock of its own: ranked<Mutex, Rank>::type. No alias template, since
/// the debug information of gcc gives one name to all types of such an alias.
template <class Mutex, lock_rank Rank>
struct ranked : std::conditional<locks_are_checked, checked_lock<Mutex, Rank>, Mutex> {};

/// While it lives, the calling thread's order begins anew: what the thread holds does not count,
/// but no heap instance may begin or end. At its end the thread holds what it held before.
/// - A call of a heap's source has one. No call leads back up from there: a heap is made after its
///   source.
/// - The handler that prepares a fork has one, and one for each heap whose locks it takes: the fork
///   keeps these locks until other handlers open them.
class checked_level {
 public:
  checked_level() noexcept : outer_(own_held_locks()) { own_held_locks() = outer_.inner_level(); }
  ~checked_level() { own_held_locks() = outer_; }
  checked_level(const checked_level&) = delete;
  checked_level& operator=(const checked_level&) = delete;

 private:
  held_locks outer_;
};
class [[maybe_unused]] unchecked_level {};
using lock_level = std::conditional_t<locks_are_checked, checked_level, unchecked_level>;

/// Opens a held lock for its own lifetime. What the lock protects may have changed afterwards. Not
/// std::unique_lock, which can throw.
template <class Mutex>
class unlock_guard {
 public:
  explicit unlock_guard(Mutex& mutex) noexcept : mutex_(mutex) { mutex_.unlock(); }
  ~unlock_guard() { mutex_.lock(); }
  unlock_guard(const unlock_guard&) = delete;
  unlock_guard& operator=(const unlock_guard&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace ashlar::detail
