// heap/central_set.hpp: the centrals of all classes.
// Layer: heap.
//
// Invariant (audit): for each class, blocks made == free + (taken - given).
// Thread-safety: each central locks itself; `start` is called by one thread alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/fault.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/central.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// What a caller without a cache can give back before the heap grows.
struct no_cache {
  [[nodiscard]] unsigned side() const noexcept { return 0; }
  [[nodiscard]] resting_blocks resting() const noexcept { return {}; }
  [[nodiscard]] std::size_t give_resting(std::uint32_t, step_budget&) const noexcept { return 0; }
  [[nodiscard]] bool gives_more(std::uint32_t) const noexcept { return false; }
  void give_all() const noexcept {}
};

template <address_space Space, class Mutex, class Classes>
class central_set {
 public:
  using space_type = Space;
  using classes = Classes;
  using central_type = central<Space, Mutex>;
  using pages_type = typename central_type::pages;

  constexpr central_set() noexcept = default;
  central_set(const central_set&) = delete;
  central_set& operator=(const central_set&) = delete;

  /// Effects: each class has its central, whose stashes hold `stash_bytes` each; slabs that are
  /// made when it has `steady_slabs` are put into memory. Requires: the pages have started, with
  /// slots() of as many bytes.
  void start(pages_type& pages, std::size_t stash_bytes, std::size_t steady_slabs) noexcept {
    empty_slabs_.most = stash_bytes;
    for (std::size_t i = 1; i < Classes::count(); ++i) {
      const auto c = static_cast<class_index>(i);
      centrals_[c].place(pages, c, Classes::shape(c), stash_capacity(c, stash_bytes), steady_slabs,
                         &empty_slabs_);
    }
  }
  /// Returns: how many slots the stashes of all classes need, where they hold `stash_bytes` each.
  [[nodiscard]] static std::size_t slots(std::size_t stash_bytes) noexcept {
    std::size_t all = 0;
    for (std::size_t c = 1; c < Classes::count(); ++c)
      all += central_type::sides * stash_capacity(static_cast<class_index>(c), stash_bytes);
    return all;
  }

  [[nodiscard]] central_type& operator[](class_index c) noexcept { return centrals_[c]; }

  /// Returns: what `settle` may let go. O(classes), no lock.
  [[nodiscard]] resting_blocks resting() const noexcept {
    resting_blocks all;
    for (std::size_t i = 1; i < Classes::count(); ++i) {
      const auto c = static_cast<class_index>(i);
      if (!centrals_[c].has_resting()) continue;
      all.add(centrals_[c].stashed(), Classes::block_size(c));
      all.add(centrals_[c].empty_slabs(), Classes::shape(c).bytes());
    }
    return all;
  }

  /// Effects: sorts every stash back into its slabs; empty ones leave.
  void settle() noexcept {
    step_budget all = step_budget::without_end();
    for (std::size_t c = 1; c < Classes::count(); ++c)
      if (centrals_[c].has_resting()) centrals_[c].settle(all);
  }

  /// Effects: waits for whoever is at work in a central now.
  void wait() noexcept {
    for (std::size_t c = 1; c < Classes::count(); ++c) const std::lock_guard each(centrals_[c]);
  }

  /// Effects: puts in memory what the stashes need to hold `bytes` of any class.
  [[nodiscard]] bool populate(std::size_t bytes) noexcept {
    for (std::size_t i = 1; i < Classes::count(); ++i) {
      const auto c = static_cast<class_index>(i);
      if (!centrals_[c].populate_stashes(bytes / Classes::block_size(c))) return false;
    }
    return true;
  }

  /// For a fork.
  void lock() noexcept {
    for (std::size_t c = 1; c < Classes::count(); ++c) centrals_[c].lock();
  }
  void unlock() noexcept {
    for (std::size_t c = Classes::count() - 1; c != 0; --c) centrals_[c].unlock();
  }

  /// Effects: checks the invariant; ends in a fault if it does not hold. O(slabs).
  void audit(pages_type& pages) noexcept {
    for (std::size_t i = 1; i < Classes::count(); ++i) {
      const auto c = static_cast<class_index>(i);
      const std::uint64_t free = centrals_[c].audit();
      const class_counts counts = centrals_[c].counts();
      if (counts.made != free + (counts.taken - counts.given))
        ashlar_fault({.kind = fault_kind::corrupted,
                      .call = "audit",
                      .block_size = Classes::block_size(c),
                      .pool = pages.name()});
    }
  }

 private:
  friend struct heap_layout;  // tells where the members are
  /// A stash holds up to 16,384 blocks: with less, batches of ten thousand go through the bitmaps.
  /// Of blocks that have a slab each it holds eight: there is no bitmap to spare, and what it does
  /// not hold can serve any class.
  static constexpr std::size_t stash_blocks_max = 16384;
  static constexpr std::size_t stash_lone_blocks_max = 8;
  [[nodiscard]] static std::size_t stash_capacity(class_index c, std::size_t stash_bytes) noexcept {
    const std::size_t size = Classes::block_size(c);
    return std::min(size > shared_slab_block_max ? stash_lone_blocks_max : stash_blocks_max,
                    stash_bytes / size);
  }

  central_type centrals_[class_count];
  empty_slabs_at_rest empty_slabs_;
};

}  // namespace ashlar::detail
