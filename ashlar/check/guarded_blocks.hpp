// check/guarded_blocks.hpp: blocks with pages of their own, so that a read or write beyond them, or
// after their free, ends at once.
// Layer: check.
//
//   a slot:  | closed ............ | pattern | the caller's bytes | pattern | closed page |
//            ^ begin               ^ a page  ^ address                      ^ end of the slot
//        or  | the caller's bytes | pattern | closed ............................... page |
//            ^ begin, address               ^ a page
//
// Most blocks end where the closed page begins, but for what their alignment leaves over (up to 15
// bytes of most), which holds a pattern like that before the block; some begin behind one, and have
// a pattern behind them. Patterns are looked at when the block is freed. The page before a slot is
// the closed one of the slot before. When the block is freed its pages are closed and cost no
// memory; the slot is used again after all others that are free. A slot is address space of 2 MiB,
// of which only a block's pages are ever open.
//
// Invariant: a slot's pages are open iff its block is live, or is being allocated or freed now;
// unused slots + slots in the queue + live blocks + those underway == slots.
// Thread-safety: every function but `start` may be called by any thread. One lock, which is not
// held in system calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/block_records.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/os/access_fault.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

struct guard_options {
  std::size_t one_of = 0;    ///< of so many allocations one is guarded, at random; 0: none
  std::size_t slots = 4096;  ///< blocks that are guarded at once, freed ones that wait included
  unsigned stack_depth = 8;  ///< frames of each call that are kept; 0: none
  bool fills = false;        ///< fresh blocks get a pattern; else they are zero
  std::size_t before_one_of =
      4;  ///< of so many guarded blocks one is closed before it, at random; 0: none
};

/// A thread's place in the draw: which of its allocations are guarded must not follow from what the
/// program allocates, nor be the same in each process.
struct guard_turn {
  std::uint32_t until = 0;   ///< allocations up to the next that is guarded; 0: to be drawn
  std::uint32_t random = 0;  ///< state of the generator; 0: to be seeded
};

/// On which side of a block the nearest closed page is.
enum class closed_side : std::uint8_t { behind, before };

class guarded_blocks {
 public:
  static constexpr std::size_t slot_bytes = std::size_t{2} << 20;
  static constexpr std::size_t room = slot_bytes - detail::page_size;  ///< the largest block
  /// Linux allows a process some 65,530 mappings; a live block is two of them, and the heap needs
  /// some, too.
  static constexpr std::size_t slots_max = 16'384;
  static constexpr std::size_t none = SIZE_MAX - 1;  ///< after a fault: no live block is there
  /// In a gap, so many slots are reserved at once.
  static constexpr std::size_t slots_a_step = 32;

  constexpr guarded_blocks() noexcept = default;
  guarded_blocks(const guarded_blocks&) = delete;
  guarded_blocks& operator=(const guarded_blocks&) = delete;

  /// Effects: finds room for the slots, which are reserved as they come into use; without room
  /// reserves them. Fewer, if they are more than an eighth of the addresses that the process may
  /// have.
  /// Returns: false when memory was refused; then no block is guarded. Requires: no other thread
  /// yet; called once.
  [[nodiscard]] bool start(const guard_options& options) noexcept;
  [[nodiscard]] bool is_on() const noexcept { return begin_ != nullptr; }
  /// Returns: of so many allocations one is guarded, while it is on.
  [[nodiscard]] std::size_t one_of() const noexcept { return options_.one_of; }

  /// Returns: whether this allocation of the thread whose turn it is told is to be guarded: one of
  /// `one_of` on average, after 1 to 2 * one_of - 1. Requires: is_on().
  [[nodiscard]] ASHLAR_HOT bool is_turn_of(guard_turn& thread) const noexcept {
    if (thread.until > 1) [[likely]] {
      --thread.until;
      return false;
    }
    return is_turn_at_last(thread);
  }
  /// Returns: where to close a page of that block: `before` for one of `before_one_of`.
  [[nodiscard]] closed_side side_for(guard_turn& thread) const noexcept;

  /// Returns: whether `address` lies where guarded blocks do. False for all while it is off.
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin_) <
           reserved_.load(std::memory_order_relaxed) * slot_bytes;
  }

  /// Returns: a block at a multiple of `alignment`, of which nothing is known if it was not
  /// `zeroed`; null when it is too large for a slot, no slot is free, or the system refuses. Two
  /// system calls a life. Requires: a power of two.
  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment, bool zeroed,
                               const char* call, closed_side side = closed_side::behind) noexcept;

  /// Effects: takes the block at `address` back. A fault naming `call` when no live block starts
  /// there, the pattern around it was written to, or it was made by another family of calls; then
  /// its slot is not used again. Requires: contains(address).
  void free(void* address, const char* call) noexcept;

  /// Returns: the size that was asked for; none after a fault: no live block starts at `address`.
  /// Requires: contains(address).
  [[nodiscard]] std::size_t size_of(const void* address, const char* call) noexcept;

  /// Returns: whether a live block starts at `address`. Never ends in a fault. Requires:
  /// contains(address).
  [[nodiscard]] bool is_live(const void* address) noexcept;

  /// Effects: a fault naming `call`, wrong_size, if a live block at `address` came from new and was
  /// not asked for with `size`. Returns: false after a fault. Requires: contains(address).
  bool expect_size(const void* address, std::size_t size, const char* call) noexcept;

  /// Effects: looks at the patterns around all live blocks; a fault naming `call` for each that was
  /// written to. Returns: live blocks. O(slots that were ever used).
  std::size_t look(const char* call) noexcept;

  /// Effects: calls visit(record) for each live block, with the lock held.
  template <class Visit>
  void for_each_live(Visit visit) noexcept {
    mutex_.lock();
    for (std::size_t i = 0; i < used_; ++i)
      if (is_live(records_[i])) visit(records_[i]);
    mutex_.unlock();
  }

  /// Effects: adds what is here to the figures: to `large`, since it has no class, and to the
  /// total.
  void add_to(ashlar_stats& stats) noexcept;

  /// Effects: tells of an access inside these slots, and ends in a fault; nothing when it is
  /// elsewhere. For a handler of signals: waits for no lock.
  void report(const os::access_fault& access) noexcept;

  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  friend struct watch_layout;  // tells where the members are
  struct counts {
    std::uint64_t made = 0, freed = 0, live_peak = 0;
    std::uint64_t page_bytes = 0, page_bytes_peak = 0, given_back_bytes = 0;
    std::uint64_t asked_bytes = 0;
    std::uint64_t refused = 0;  ///< blocks that were to be guarded and are not
  };

  [[nodiscard]] static bool is_live(const block_record& r) noexcept {
    return r.made.call != nullptr && r.freed.call == nullptr;
  }
  [[nodiscard]] std::size_t index_of(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin_) / slot_bytes;
  }
  [[nodiscard]] ASHLAR_COLD bool is_turn_at_last(guard_turn& thread) const noexcept;
  struct place {
    std::byte* address;  ///< the block's
    std::byte* pages;    ///< those to be opened
    std::size_t page_bytes;
  };
  [[nodiscard]] place place_in(std::size_t index, std::size_t size, std::size_t alignment,
                               closed_side side) const noexcept;

  /// Returns: the live block that starts at `address`; null after a fault: none does.
  [[nodiscard]] block_record* expect_live(const void* address, const char* call) noexcept;
  /// Effects: a fault if the pattern around the block was written to, and that was not told yet.
  /// Returns: whether it never was.
  bool expect_untouched(block_record& r, const char* call) noexcept;
  /// Effects: tells the fault. Requires: the lock, which is open meanwhile.
  void fail(fault_kind kind, const block_record& r, const void* address, const char* call) noexcept;
  [[nodiscard]] std::byte* find_gap() noexcept;
  [[nodiscard]] bool reserve_slots(std::size_t count) noexcept;
  [[nodiscard]] block_record* take_slot() noexcept;
  void put_slot(block_record* r) noexcept;
  [[nodiscard]] const block_record* nearest(const std::byte* address) const noexcept;

  guard_options options_;
  std::byte* begin_ = nullptr;  ///< of the first slot
  std::size_t slots_ = 0;
  std::atomic<std::size_t> reserved_{0};  ///< slots whose addresses are ours: those below
  bool in_room_ = false;
  block_record* records_ = nullptr;  ///< one a slot
  ranked<os::mutex, lock_rank::guards>::type mutex_;
  std::size_t used_ = 0;  ///< slots that were ever taken: those below
  block_record* oldest_ = nullptr;
  block_record* newest_ = nullptr;
  counts counts_;
};

}  // namespace ashlar::detail
