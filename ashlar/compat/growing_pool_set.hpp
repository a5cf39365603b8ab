// compat/growing_pool_set.hpp: pools of several block sizes that take slabs from a page source as
// needed: what xallocator's heap-blocks mode is made of.
// Layer: compat.
//
//   growing_pool_set<blocks<396, 20>, blocks<768, 10>, Source, Policies...>
//
// The count of a class is that of its first slab; each further slab is as large as all before it,
// so a class of n blocks has O(log n) slabs. Slabs stay until the set ends. Policies and their
// defaults are pool_set's, but there is no spill: a class that cannot grow means that the source
// has nothing left. A block's class is found by its address, in a list of all slabs: O(slabs),
// newest first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/class_set.hpp>
#include <ashlar/pool/fixed_pool.hpp>

namespace ashlar {

namespace detail {

/// Which class an address belongs to. Entries are added by any thread, never changed or removed.
/// Law: a thread that has a block's address sees the entry of its slab, since the entry was written
/// before the slab gave its first block. No lock: the callers of add hold one of the program's.
template <std::size_t Capacity>
class slab_directory {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  /// Returns: false when there are Capacity entries.
  bool add(const void* piece, std::size_t bytes, std::size_t owner) noexcept {
    std::size_t i = used_.load(std::memory_order_relaxed);
    do {
      if (i == Capacity) return false;
    } while (!used_.compare_exchange_weak(i, i + 1, std::memory_order_relaxed));
    slabs_[i].bytes = bytes;
    slabs_[i].owner = owner;
    slabs_[i].begin.store(reinterpret_cast<std::uintptr_t>(piece), std::memory_order_release);
    return true;
  }
  struct slab {
    std::atomic<std::uintptr_t> begin{0};
    std::size_t bytes = 0;
    std::size_t owner = 0;
  };
  /// Returns: the entry of the slab that `p` points into, or null.
  [[nodiscard]] const slab* slab_of(const void* p) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    for (std::size_t i = used_.load(std::memory_order_relaxed); i-- > 0;) {
      // 0 is an entry that is still being written; its bytes may not be read.
      const std::uintptr_t begin = slabs_[i].begin.load(std::memory_order_acquire);
      if (begin != 0 && at - begin < slabs_[i].bytes) return &slabs_[i];
    }
    return nullptr;
  }
  [[nodiscard]] std::size_t owner_of(const void* p) const noexcept {
    const slab* const found = slab_of(p);
    return found == nullptr ? none : found->owner;
  }

 private:
  slab slabs_[Capacity]{};
  std::atomic<std::size_t> used_{0};
};

/// A page source that enters each piece into a directory.
template <class Source, class Directory>
class directed_source {
 public:
  constexpr directed_source(Source source, Directory& directory, std::size_t owner) noexcept
      : source_(std::move(source)), directory_(&directory), owner_(owner) {}

  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment) noexcept {
    void* const piece = source_.allocate(size, alignment);
    if (piece != nullptr && !directory_->add(piece, size, owner_)) {
      source_.deallocate(piece, size, alignment);
      return nullptr;
    }
    return piece;
  }
  /// Called when the set ends: the directory ends with it.
  void deallocate(void* piece, std::size_t size, std::size_t alignment) noexcept {
    source_.deallocate(piece, size, alignment);
  }

 private:
  [[no_unique_address]] Source source_;
  Directory* directory_;
  std::size_t owner_;
};

template <class List, class... Policies>
class growing_classes;

template <class... Classes, class... Policies>
class growing_classes<type_list<Classes...>, Policies...> {
  // Doubling slabs: 32 of them are 2^31 times the first. A source that gives only small pieces ends
  // the set's growth earlier.
  using directory_type = slab_directory<32 * sizeof...(Classes)>;
  using source_type = pick_policy<source_kind, void, Policies...>;
  static_assert(!std::is_void_v<source_type>, "a growing_pool_set takes a page source");
  using slab_source = directed_source<source_type, directory_type>;
  using pool_type =
      fixed_pool<slab_source, exhaustion::null, pick_policy<lock_kind, no_lock, Policies...>,
                 pick_policy<check_kind, check::cheap, Policies...>,
                 pick_policy<counting_kind, counting::exact, Policies...>,
                 pick_policy<name_kind, unnamed, Policies...>>;

 public:
  using exhaustion_type = pick_policy<exhaustion_kind, exhaustion::null, Policies...>;
  using name_type = pick_policy<name_kind, unnamed, Policies...>;
  static constexpr bool nothrow_allocate = exhaustion_type::nothrow;
  static constexpr std::size_t class_count = sizeof...(Classes);
  static_assert(!exhaustion_type::borrows, "a growing set has a source to take from");

  constexpr explicit growing_classes(source_type source = {}) noexcept
      : pools_(source, directory_) {}
  growing_classes(const growing_classes&) = delete;
  growing_classes& operator=(const growing_classes&) = delete;

  /// Returns: a block of at least `size` bytes (0 counts as 1) at a multiple of `alignment`; null
  /// when no class fits or the source has nothing. Requires: `alignment` is a power of two, else
  /// ashlar_fault(bad_argument). Complexity: O(classes), and the source's where a slab is added.
  /// Thread-safety: as the lock policy says, for all functions; each class has a lock of its own.
  [[nodiscard]] void* try_allocate(std::size_t size,
                                   std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (!is_power_of_two(alignment)) [[unlikely]] {
      ashlar_fault({fault_kind::bad_argument, "allocate", nullptr, size, name()});
    }
    const std::size_t c = class_of(size, alignment);
    return c == class_count ? nullptr : pools_.at(c).try_allocate();
  }
  /// As try_allocate, but where that is null asks the exhaustion policy, with no lock held.
  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment = alignof(
                                                     std::max_align_t)) noexcept(nothrow_allocate) {
    void* const p = try_allocate(size, alignment);
    if (p != nullptr) return p;
    return exhaustion_type{}.exhausted(
        {size == 0 ? 1 : size, alignment, name()},
        [=, this]() noexcept { return try_allocate(size, alignment); });
  }
  /// Effects: takes a block back; null does nothing. Requires: `p` came from this set and is in
  /// use, else ashlar_fault. Complexity: O(slabs).
  void deallocate(void* p) noexcept {
    if (p != nullptr && !try_deallocate_as(p, call_name<"deallocate">{})) [[unlikely]] {
      ashlar_fault({fault_kind::foreign_pointer, "deallocate", p, 0, name()});
    }
  }
  /// As deallocate, but an address outside the set is left alone, and a fault names `call`, a
  /// call_name or a text that stays. Returns: whether it was the set's.
  template <class Call>
  bool try_deallocate_as(void* p, Call call) noexcept {
    const auto* const slab = directory_.slab_of(p);
    if (slab == nullptr) return false;
    pools_.at(slab->owner).deallocate_as(p, call);
    return true;
  }
  /// The same; a size or alignment that no block of its class is got for is
  /// ashlar_fault(wrong_size).
  void deallocate(void* p, std::size_t size,
                  std::size_t alignment = alignof(std::max_align_t)) noexcept {
    const std::size_t c = p == nullptr ? directory_.none : directory_.owner_of(p);
    if (c != directory_.none && c != class_of(size, alignment)) [[unlikely]] {
      ashlar_fault({fault_kind::wrong_size, "deallocate", p, block_size(c), name()});
    }
    deallocate(p);
  }

  /// Returns: whether `p` points into a slab of this set. O(slabs).
  [[nodiscard]] bool owns(const void* p) const noexcept {
    return directory_.owner_of(p) != directory_.none;
  }
  /// Returns: the bytes that a caller may use of the block that `p` points into; 0 if it is not the
  /// set's. O(slabs).
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    const std::size_t c = directory_.owner_of(p);
    return c == directory_.none ? 0 : block_size(c);
  }
  /// Returns: the index of the smallest class that fits a request; class_count if none does.
  [[nodiscard]] static constexpr std::size_t class_of(
      std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    std::size_t c = 0;
    while (c < class_count && (sizes[c] < size || alignments[c] < alignment)) ++c;
    return c;
  }
  [[nodiscard]] static constexpr std::size_t block_size(std::size_t c) noexcept { return sizes[c]; }
  [[nodiscard]] static constexpr const char* name() noexcept { return name_type::name(); }

  /// Returns: the figures of each class; capacity is SIZE_MAX.
  [[nodiscard]] pool_set_stats<class_count> stats() const noexcept {
    pool_set_stats<class_count> all{};
    for (std::size_t c = 0; c < class_count; ++c) all.classes[c] = pools_.at(c).stats();
    return all;
  }
  [[nodiscard]] bool audit() const noexcept {
    for (std::size_t c = 0; c < class_count; ++c) {
      if (!pools_.at(c).audit()) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t sizes[class_count] = {Classes::size_bytes...};
  static constexpr std::size_t alignments[class_count] = {Classes::alignment...};
  static constexpr std::size_t counts[class_count] = {Classes::count...};
  static_assert(sizes_go_up<Classes::size_bytes...>::value);

  /// One pool a class, as bases: an array of what cannot be copied is no constant for every
  /// compiler.
  template <std::size_t C>
  struct nth_pool : pool_type {
    using pool_type::pool_type;
  };
  template <class Indices>
  struct pools_by_index;
  template <std::size_t... C>
  struct pools_by_index<std::index_sequence<C...>> : nth_pool<C>... {
    constexpr pools_by_index(const source_type& source, directory_type& directory) noexcept
        : nth_pool<C>(block_layout{sizes[C], alignments[C]},
                      heap_blocks{.first_slab_blocks = counts[C]},
                      slab_source(source, directory, C))... {}

    /// Returns: the pool of class `c`. Requires: c < class_count.
    [[nodiscard]] const pool_type& at(std::size_t c) const noexcept {
      const pool_type* found = static_cast<const nth_pool<0>*>(this);
      static_cast<void>(
          ((c == C ? (found = static_cast<const nth_pool<C>*>(this), true) : false) || ...));
      return *found;
    }
    [[nodiscard]] pool_type& at(std::size_t c) noexcept {
      return const_cast<pool_type&>(std::as_const(*this).at(c));
    }
  };

  directory_type directory_;
  pools_by_index<std::make_index_sequence<class_count>> pools_;
};

}  // namespace detail

template <class... BlocksAndPolicies>
class growing_pool_set
    : public detail::growing_classes<
          typename detail::blocks_among<detail::type_list<>, BlocksAndPolicies...>::type,
          BlocksAndPolicies...> {
  using detail::growing_classes<
      typename detail::blocks_among<detail::type_list<>, BlocksAndPolicies...>::type,
      BlocksAndPolicies...>::growing_classes;
};

}  // namespace ashlar
