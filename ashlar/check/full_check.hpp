// check/full_check.hpp: what full checks add to every block of a heap: of the process heap by
// ASHLAR_CHECK=full, of a heap instance by check::full.
// Layer: check.
//
//   block of the heap:  | front: guard bytes | the caller's bytes | back: guard bytes |
//                                            ^ the caller's address
//
// A new block is filled with one pattern, a freed one with another. Freed blocks wait in a queue
// before the heap may use them again; when they leave it, their pattern is looked at. So a write
// beyond either end is found when the block is freed (or by `look`), a write after free when the
// block leaves the queue, a second free at once. The reports say which calls made and freed the
// block, in which thread, and from where.
//
// Of what is long, only both ends are filled and looked at (misuse_report.hpp: filled_end_bytes).
//
// Invariant: a record is in the queue iff its block was freed and is not spoilt; queued_blocks ==
// their number, queued_bytes == sum of their sizes.
// Where the process goes on after a fault (ashlar_misuse), the request is dropped, and what was
// spoilt is told once and stays out of use: no lock is held while it is told.
// Thread-safety: every function but `start` and `end` may be called by any thread; one lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/block_records.hpp>
#include <ashlar/check/misuse_report.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/os/sanitizer.hpp>

namespace ashlar::detail {

struct full_check_options {
  std::size_t queue_bytes = std::size_t{16} << 20;  ///< freed blocks that wait
  std::size_t queue_blocks = SIZE_MAX;              ///< and at most so many of them
  unsigned stack_depth = 8;                         ///< frames of each call that are kept; 0: none
  const char* name = nullptr;  ///< what faults call the heap; null: the process heap
  /// Whether a size that a free says is compared for all blocks, not only for those from new: where
  /// it is always what was asked for.
  bool compares_all_sizes = false;
};

class full_check {
 public:
  static constexpr std::size_t guard_bytes_min = 16;
  static constexpr std::size_t unknown = SIZE_MAX;   ///< the size of what is no block of this
  static constexpr std::size_t none = SIZE_MAX - 1;  ///< after a fault: no live block is there

  constexpr full_check() noexcept = default;
  full_check(const full_check&) = delete;
  full_check& operator=(const full_check&) = delete;

  /// Requires: no other thread yet.
  void start(const full_check_options& options) noexcept {
    options_ = options;
    on_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_on() const noexcept { return on_.load(std::memory_order_relaxed); }
  /// Effects: gives the memory of the records back. Requires: nobody uses this any more, nor ever
  /// will.
  void end() noexcept { records_.release_all(); }

  /// Returns: how many bytes the heap has to give for `size` at multiples of `alignment`; 0 when
  /// that is more than there are addresses.
  [[nodiscard]] static std::size_t bytes_for(std::size_t size, std::size_t alignment) noexcept;

  /// The bytes that a caller finds in a new block.
  enum class first_bytes : std::uint8_t {
    filled,      ///< at their ends with the pattern of new blocks
    zeros,       ///< all of them
    as_they_are  ///< in the heap's block
  };
  /// Effects: makes `block`, of `block_bytes` at a multiple of `alignment`, the caller's: guards
  /// it, and fills it as `first` says. Returns: the caller's address; null when there is no memory
  /// for a record.
  /// Requires: block_bytes >= bytes_for(size, alignment). O(the bytes filled).
  [[nodiscard]] void* made(void* block, std::size_t block_bytes, std::size_t size,
                           std::size_t alignment, first_bytes first, const char* call) noexcept;

  /// What `freed` found. `known`: the address is a block that `made` knows. `leaving`: a list, by
  /// next_in_queue, of blocks that left the queue: nobody finds their records any more; the caller
  /// frees each one's block, then gives the list to `forget`.
  struct freed_result {
    bool known = false;
    block_record* leaving = nullptr;
  };
  /// Effects: takes the block at `address` back. Ends in a fault naming `call` when it is free
  /// already, a guard or the pattern of a block that leaves was written to, or it was made by
  /// another family of calls. O(bytes filled).
  [[nodiscard]] freed_result freed(void* address, const char* call) noexcept;
  /// Effects: as `freed`, of all that wait: they leave. Returns: the list of `freed_result`.
  /// O(their bytes).
  [[nodiscard]] block_record* emptied_queue(const char* call) noexcept;
  void forget(block_record* leaving) noexcept;

  /// Effects: the live block at `address` has `size` bytes from now on; the rest is guarded.
  /// Requires: it had as many.
  void shrunk(const void* address, std::size_t size) noexcept;

  /// Returns: the size that the caller of the live block at `address` asked for; unknown when there
  /// is no such block; none after a fault naming `call`: the block was freed.
  [[nodiscard]] std::size_t size_of(const void* address, const char* call) noexcept;

  /// Returns: whether `made` knows a live block at `address`. Never ends in a fault.
  [[nodiscard]] bool is_live(const void* address) noexcept;

  /// Effects: a fault naming `call`, wrong_size, if a live block at `address` was not asked for
  /// with `size`; of blocks that did not come from new only if it `compares_all_sizes`. Returns:
  /// false after a fault.
  bool expect_size(const void* address, std::size_t size, const char* call) noexcept;

  /// Effects: a fault naming `call` if `address`, which is no block, lies inside one. Returns:
  /// false after a fault.
  bool expect_outside(const void* address, const char* call) noexcept;

  /// Effects: looks at the guards and patterns of all blocks; a fault naming `call` for each that
  /// was written to. Returns: blocks that are live. O(bytes of all blocks).
  std::size_t look(const char* call) noexcept;

  /// Effects: calls visit(record) for each live block, with the lock held.
  template <class Visit>
  void for_each_live(Visit visit) noexcept {
    mutex_.lock();
    records_.for_each([&](const block_record& r) {
      if (r.freed.call == nullptr) visit(r);
    });
    mutex_.unlock();
  }

  /// Returns: bytes of the records.
  [[nodiscard]] std::size_t memory_bytes() noexcept {
    mutex_.lock();
    const std::size_t bytes = records_.memory_bytes();
    mutex_.unlock();
    return bytes;
  }

  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  friend struct watch_layout;  // tells where the members are
  /// As the public one, where it is `known` whether families are told apart. If that is not known
  /// and matters, nothing has changed, and `made_by` says who made the block.
  freed_result freed(void* address, const char* call, const deed& end, families known,
                     const char*& made_by) noexcept;
  /// Effects: tells the fault. Requires: the lock, which is open meanwhile.
  void fail(fault_kind kind, const block_record& r, const void* address, const char* call) noexcept;
  /// Effects: a fault if the block is spoilt and that was not told yet. Returns: whether it was
  /// never spoilt.
  bool expect_untouched(block_record& r, const char* call) noexcept;
  [[nodiscard]] block_record* leave(std::size_t bytes_max, std::size_t blocks_max,
                                    const char* call) noexcept;

  std::atomic<bool> on_{false};
  full_check_options options_;
  ranked<os::told_mutex, lock_rank::checks>::type mutex_;
  block_records records_;
  block_record* oldest_ = nullptr;
  block_record* newest_ = nullptr;
  std::size_t queued_bytes_ = 0;
  std::size_t queued_blocks_ = 0;
};

}  // namespace ashlar::detail
