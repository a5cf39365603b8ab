// heap/cache_set.hpp: the caches of a heap: those that have an owner, and spare ones.
// Layer: heap.
//
//   owned  -> cache <-> cache <-> ...   each may hold share() == bytes_ / count()
//   spare  -> cache -> ...              empty, waiting for an owner; at most 8, or as prefault says
//
// Law: all caches share bytes_ evenly (heap_bounds.hpp has the sum). A cache that has an owner is
// on the first list, every other one on the second.
// Thread-safety: one lock for both lists; count() and share() take none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/linked_list.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/heap/hit_path.hpp>
#include <ashlar/heap/thread_cache.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/sealable.hpp>

namespace ashlar::detail {

template <address_space Space, class Mutex>
class cache_set {
 public:
  constexpr cache_set() noexcept = default;
  cache_set(const cache_set&) = delete;
  cache_set& operator=(const cache_set&) = delete;

  static constexpr std::size_t cache_bytes = align_up(sizeof(thread_cache), page_size);

  /// Returns: caches that have an owner.
  [[nodiscard]] std::size_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  /// Returns: what one cache may hold at all, now. Requires: one has an owner.
  [[nodiscard]] std::size_t share() const noexcept { return bytes() / count(); }
  /// Returns: whether a cache with so much room is beyond its share.
  [[nodiscard]] bool is_beyond_share(std::size_t room_bytes) const noexcept {
    return std::uint64_t{room_bytes} * count() > bytes();  // as room > share(), without a division
  }

  /// Returns: whether it is set what all caches together may hold.
  [[nodiscard]] bool is_bounded() const noexcept { return bytes() != 0; }
  /// Effects: all caches together may hold `bytes`. Those that hold more give it back when they
  /// miss.
  void set_bytes(std::size_t bytes) noexcept { bytes_.store(bytes, std::memory_order_relaxed); }

  /// Returns: an empty cache for a new owner, or null. All caches together may hold `bytes`
  /// if nobody has said more. The second cache brings `keys` into use. A cache among the newest
  /// that `is_callers` knows has the caller as its owner already, and is returned as it is.
  /// O(classes).
  template <class IsCallers>
  [[nodiscard]] thread_cache* attach(sealable<Space>& space, const block_tables& tables,
                                     heap_keys& keys, std::size_t bytes,
                                     IsCallers is_callers) noexcept {
    const std::lock_guard guard(mutex_);
    thread_cache* known = owned_;
    for (unsigned i = 0; i < newest_asked && known != nullptr; ++i, known = known->next)
      if (is_callers(*known)) return known;
    if (this->bytes() == 0) set_bytes(bytes);
    thread_cache* c = spare_;
    if (c != nullptr) {
      spare_ = c->next;
      --spare_count_;
    } else {
      c = static_cast<thread_cache*>(map_zeros(space, cache_bytes));
      if (c == nullptr) return nullptr;
      c->start(tables);
    }
    c->side = owned_ != nullptr && owned_->side == 0;
    link_first(owned_, *c);
    if (++count_ > 1 && !keys.are_in_use()) begin(keys);
    if (keys.are_in_use()) c->use_keys(keys);
    return c;
  }

  /// Effects: the owner of `c` has ended; the cache waits for another one, or goes back to the
  /// space. Requires: it is empty.
  void detach(sealable<Space>& space, thread_cache* c, const block_tables& tables) noexcept {
    const std::lock_guard guard(mutex_);
    c->start(tables);
    unlink_from(owned_, *c);
    --count_;
    if (spare_count_ >= spare_max && !space.is_sealed()) {
      space.release(c, cache_bytes);
      return;
    }
    add_spare(c);
  }

  /// Effects: forgets every cache but `own` (may be null).
  void keep_only(thread_cache* own) noexcept {
    const std::lock_guard guard(mutex_);
    owned_ = own;
    count_ = own != nullptr ? 1 : 0;
    if (own != nullptr) own->next = own->previous = nullptr;
  }

  /// Effects: `own` (may be null) and spare caches for `owners` are in memory. Returns: false when
  /// memory was refused; what was got until then stays.
  [[nodiscard]] bool prefault(sealable<Space>& space, const block_tables& tables,
                              std::size_t owners, thread_cache* own) noexcept {
    if (own != nullptr && !space.populate(own, cache_bytes)) return false;
    const std::lock_guard guard(mutex_);
    for (thread_cache* c = spare_; c != nullptr; c = c->next)
      if (!space.populate(c, cache_bytes)) return false;
    while (spare_count_ < owners) {
      auto* c = static_cast<thread_cache*>(map_zeros(space, cache_bytes));
      if (c == nullptr) return false;
      if (!space.populate(c, cache_bytes)) {
        space.release(c, cache_bytes);
        return false;
      }
      c->start(tables);
      add_spare(c);
    }
    return true;
  }

  /// Effects: visit(cache) for each cache that has an owner, with the lock held.
  template <class Visit>
  void for_each(Visit visit) noexcept {
    const std::lock_guard guard(mutex_);
    for (const thread_cache* c = owned_; c != nullptr; c = c->next) visit(*c);
  }

  /// Returns: bytes of all caches that are in memory. O(their pages).
  [[nodiscard]] std::size_t resident_bytes(sealable<Space>& space) noexcept {
    std::size_t bytes = 0;
    const std::lock_guard guard(mutex_);
    for (thread_cache* list : {owned_, spare_})
      for (thread_cache* c = list; c != nullptr; c = c->next)
        bytes += space.resident(c, cache_bytes);
    return bytes;
  }

  /// Effects: all caches go back to the space. Requires: nobody uses one any more.
  void release_all(sealable<Space>& space) noexcept {
    for (thread_cache** list : {&owned_, &spare_}) {
      while (thread_cache* c = *list) {
        *list = c->next;
        space.release(c, cache_bytes);
      }
    }
  }

  /// For a fork.
  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  friend struct heap_layout;  // tells where the members are
  static constexpr std::size_t spare_max = 8;
  static constexpr unsigned newest_asked =
      8;  ///< a page each: to ask all would make threads slow to start

  /// Effects: `keys` are in use, and all owners' hits use them. Requires: the lock is held.
  void begin(heap_keys& keys) noexcept {
    for (thread_cache* c = owned_; c != nullptr; c = c->next) c->use_keys(keys);
    keys.begin();
  }

  void add_spare(thread_cache* c) noexcept {
    c->next = spare_;
    spare_ = c;
    ++spare_count_;
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }

  typename ranked<Mutex, lock_rank::caches>::type mutex_;
  thread_cache* owned_ = nullptr;
  thread_cache* spare_ = nullptr;
  std::atomic<std::size_t> count_{0};
  std::size_t spare_count_ = 0;
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace ashlar::detail
