// pool/pool_set.hpp: blocks of several sizes, each request served by the smallest that fits.
// Layer: pool (freestanding).
//
//   static_pool_set<blocks<32, 200>, blocks<396, 20>, Policies...>       storage inside, constinit
//   pool_set<blocks<32, 200>, blocks<396, 20>, Source, Policies...>      one piece of a page source
//
// Classes are written from small to large. Policies, in any order: spill::*, exhaustion::*, a lock,
// check::*, counting::*, at_death::*, named<"...">, recording::*. Defaults: spill::take_larger,
// exhaustion::null, no_lock, check::cheap, counting::exact, at_death::ignore, recording::none. Each
// class has a lock of its own.
// A request that equals a class's size is served by that class. No block is found by its neighbours
// or by a header: a class is an address range, so a block's address tells its class.
//
// Law: with spill::never, if each capacity is at least the largest number of blocks that the class
// has in use at one time, no order of calls makes the set fail.
// Equation: memory == sum over the classes of count * slot_bytes + state, rounded up to the
// alignments, where slot_bytes is the size rounded up to the alignment, and state is a link, a
// watermark, and what the policies add (check::cheap: a byte a block; counting::exact: two words).
// A static set that was never used is all zero bits, and so in .bss, unless its exhaustion policy
// is given an address: then it is in the image, all of it; use a pool_set there.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/recording.hpp>
#include <ashlar/pool/blocks.hpp>
#include <ashlar/pool/class_set.hpp>

namespace ashlar {
namespace detail {

template <class... Arguments>
using classes_for = class_set<typename blocks_among<type_list<>, Arguments...>::type, Arguments...>;

template <class E>
inline constexpr bool lends_one_size = false;
template <class Pool>
inline constexpr bool lends_one_size<exhaustion::next_larger<Pool>> = true;

/// What both sets do; `Set` derives from this and has classes(): a pointer to them, or null.
template <class Set, class... Arguments>
class pool_set_face {
 protected:
  using classes_type = classes_for<Arguments...>;

 public:
  using exhaustion_type = pick_policy<exhaustion_kind, exhaustion::null, Arguments...>;
  using name_type = pick_policy<name_kind, unnamed, Arguments...>;
  using recording_type = pick_policy<recording_kind, recording::none, Arguments...>;
  using stats_type = pool_set_stats<classes_type::count>;
  static constexpr bool nothrow_allocate = exhaustion_type::nothrow;
  static constexpr std::size_t class_count = classes_type::count;
  static constexpr bool spills_to_larger =
      pick_policy<spill_kind, spill::take_larger, Arguments...>::to_larger;
  /// The largest request that a class serves, bytes.
  static constexpr std::size_t largest_size = classes_type::largest;
  static_assert(exhaustion_policy<exhaustion_type>);
  static_assert(
      !lends_one_size<exhaustion_type>,
      "exhaustion::next_larger is for pools of one size: a set borrows from another set or "
      "a heap by exhaustion::upstream");

  pool_set_face(const pool_set_face&) = delete;
  pool_set_face& operator=(const pool_set_face&) = delete;

  /// Returns: a block of at least `size` bytes (0 counts as 1) at a multiple of `alignment`, its
  /// contents unspecified; null when no class that may serve has one left, or none is so large or
  /// so aligned. Requires: `alignment` is a power of two, else ashlar_fault(bad_argument). Throws:
  /// nothing. Complexity: O(log classes), O(1) for constants; that again for each class that is
  /// empty, when a larger one serves. Thread-safety: as the lock policy
  /// says, for all functions of a set.
  [[nodiscard]] ASHLAR_HOT void* try_allocate(
      std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    classes_type* const classes = self().classes();
    if constexpr (Set::may_have_no_memory) {
      if (classes == nullptr) [[unlikely]] {
        classes_type::require_power_of_two("allocate", size, alignment);
        record_taken(recording_type{}, *this, nullptr, size, alignment);
        return nullptr;
      }
    }
    void* const p = classes->take(size, alignment);
    record_taken(recording_type{}, *this, p, size, alignment);
    return p;
  }

  /// As try_allocate, but where that is null asks the exhaustion policy, with no lock held and with
  /// the request's size and alignment. Throws: what that policy throws.
  [[nodiscard]] ASHLAR_HOT void* allocate(
      std::size_t size,
      std::size_t alignment = alignof(std::max_align_t)) noexcept(nothrow_allocate) {
    void* const p = try_allocate(size, alignment);
    if constexpr (!std::is_same_v<exhaustion_type, exhaustion::null>) {
      if (p == nullptr) [[unlikely]]
        return exhausted_slow(size, alignment);
    }
    return p;
  }

  /// Effects: takes a block back; null is allowed and does nothing. Requires: `p` came from this
  /// set (or was borrowed by its exhaustion policy) for this size and alignment and is in use; else
  /// ashlar_fault if the check policy sees it: what it sees in a pool, a size or alignment that the
  /// block cannot have been got for (wrong_size), no power of two (bad_argument).
  /// Complexity: O(log classes); for constants O(1) unless a larger class had to serve.
  ASHLAR_HOT void deallocate(void* p, std::size_t size,
                             std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (p == nullptr) [[unlikely]]
      return;
    if constexpr (exhaustion_type::borrows) {
      if (!owns(p)) [[unlikely]] {
        classes_type::require_power_of_two("deallocate", size, alignment);
        return exhaustion_.give_back(p, request(size, alignment));
      }
    }
    record_given(recording_type{}, *this, p);
    classes_of(p, "deallocate")->give(p, size, alignment);
  }

  /// The same by the address alone. Not where the exhaustion policy borrows from a source that must
  /// be told the size. Complexity: O(log classes).
  void deallocate(void* p) noexcept
    requires(!exhaustion_type::borrows || returns_by_address<exhaustion_type>)
  {
    deallocate_as(p, call_name<"deallocate">{});
  }
  /// The same; a fault names `call`, a call_name or a text that stays. A policy that lent the block
  /// is told it by give_back_as(p, call), if it has that.
  template <class Call>
  void deallocate_as(void* p, Call call) noexcept
    requires(!exhaustion_type::borrows || returns_by_address<exhaustion_type>)
  {
    if (p == nullptr) [[unlikely]]
      return;
    if constexpr (exhaustion_type::borrows) {
      if (!try_deallocate_as(p, call)) [[unlikely]] {
        if constexpr (requires { exhaustion_.give_back_as(p, call); }) {
          exhaustion_.give_back_as(p, call);
        } else {
          exhaustion_.give_back(p);
        }
      }
    } else {
      record_given(recording_type{}, *this, p);
      classes_of(p, call)->give(p, call);
    }
  }
  /// As deallocate_as, but an address outside the set is left alone. Returns: whether it was the
  /// set's.
  template <class Call>
  bool try_deallocate_as(void* p, Call call) noexcept {
    classes_type* const classes = self().classes();
    return classes != nullptr && classes->try_give(p, call, [this, p]() ASHLAR_HOT_LAMBDA {
      record_given(recording_type{}, *this, p);
    });
  }

  /// Returns: whether `p` points into this set's blocks, in use or not; a borrowed block is not the
  /// set's. O(log classes), thread-safe.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    const classes_type* const classes = self().classes();
    return classes != nullptr && classes->contains(p);
  }
  /// Returns: the bytes that a caller may use of the block that `p` points into; 0 if it is not the
  /// set's. O(log classes), thread-safe.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    const classes_type* const classes = self().classes();
    const std::size_t c = classes == nullptr ? class_count : classes->class_at(p);
    return c == class_count ? 0 : block_size(c);
  }

  /// Returns: the index of the smallest class that fits a request; class_count if none does.
  [[nodiscard]] static constexpr std::size_t class_of(
      std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    return classes_type::class_of(size, alignment);
  }
  /// Returns: block size, alignment, distance of two neighbours (bytes) and number of blocks of
  /// class `c`. Requires: c < class_count.
  [[nodiscard]] static constexpr std::size_t block_size(std::size_t c) noexcept {
    return classes_type::sizes[c];
  }
  [[nodiscard]] static constexpr std::size_t block_alignment(std::size_t c) noexcept {
    return classes_type::alignments[c];
  }
  [[nodiscard]] static constexpr std::size_t slot_bytes(std::size_t c) noexcept {
    return classes_type::strides[c];
  }
  [[nodiscard]] static constexpr std::size_t block_count(std::size_t c) noexcept {
    return classes_type::counts[c];
  }
  /// Returns: the set's name, or null.
  [[nodiscard]] static constexpr const char* name() noexcept { return name_type::name(); }
  /// The policy object, for those that have a state.
  [[nodiscard]] exhaustion_type& exhaustion_policy_object() noexcept { return exhaustion_; }

  /// Returns: the figures of each class at one moment (of that class). A set without memory has
  /// capacity 0 everywhere. Complexity: as fixed_pool's, for each class.
  [[nodiscard]] stats_type stats() const noexcept {
    if (const classes_type* const classes = self().classes()) return classes->stats();
    stats_type empty{};
    for (std::size_t c = 0; c < class_count; ++c) empty.classes[c].block_size = block_size(c);
    return empty;
  }
  /// Returns: whether the invariants of every class hold. Complexity: O(blocks).
  [[nodiscard]] bool audit() const noexcept {
    const classes_type* const classes = self().classes();
    return classes == nullptr || classes->audit();
  }

 protected:
  constexpr explicit pool_set_face(exhaustion_type exhaustion) noexcept
      : exhaustion_(std::move(exhaustion)) {}
  ~pool_set_face() = default;

  [[no_unique_address]] exhaustion_type exhaustion_;

 private:
  [[nodiscard]] ASHLAR_HOT Set& self() noexcept { return static_cast<Set&>(*this); }
  [[nodiscard]] ASHLAR_HOT const Set& self() const noexcept {
    return static_cast<const Set&>(*this);
  }
  [[nodiscard]] static constexpr exhaustion_request request(std::size_t size,
                                                            std::size_t alignment) noexcept {
    return {size == 0 ? 1 : size, alignment, name()};
  }
  /// Returns: the classes. A set without memory gave no block: `p` is foreign.
  [[nodiscard]] ASHLAR_HOT classes_type* classes_of(const void* p, const char* call) noexcept {
    classes_type* const classes = self().classes();
    if constexpr (Set::may_have_no_memory && classes_type::is_checked) {
      if (classes == nullptr) [[unlikely]] {
        ashlar_fault({fault_kind::foreign_pointer, call, p, 0, name()});
      }
    }
    return classes;
  }
  [[nodiscard]] ASHLAR_COLD void* exhausted_slow(std::size_t size,
                                                 std::size_t alignment) noexcept(nothrow_allocate) {
    return exhaustion_.exhausted(request(size, alignment), [this, size, alignment]() noexcept {
      return try_allocate(size, alignment);
    });
  }
};

}  // namespace detail

/// The blocks are in the object itself: no heap, no start-up code. Neither copied nor moved. Its
/// destructor is trivial, so that a static one serves until the program's last moment, unless
/// at_death reports.
template <class... BlocksAndPolicies>
class static_pool_set
    : public detail::pool_set_face<static_pool_set<BlocksAndPolicies...>, BlocksAndPolicies...> {
  using face = detail::pool_set_face<static_pool_set, BlocksAndPolicies...>;
  static_assert(std::is_same_v<pick_policy<source_kind, void, BlocksAndPolicies...>, void>,
                "a static_pool_set has its storage inside: it takes no page source");
  friend face;

 public:
  using typename face::exhaustion_type;

  constexpr static_pool_set() noexcept : face(exhaustion_type{}) {}
  constexpr explicit static_pool_set(exhaustion_type exhaustion) noexcept
      : face(std::move(exhaustion)) {}

 private:
  static constexpr bool may_have_no_memory = false;
  [[nodiscard]] ASHLAR_HOT auto* classes() noexcept { return &classes_; }
  [[nodiscard]] ASHLAR_HOT const auto* classes() const noexcept { return &classes_; }

  typename face::classes_type classes_;
};

/// The blocks are in one piece of a page source, taken by the constructor and given back by the
/// destructor. Only the head of each class is written before its blocks are used, so a large set
/// over pages that are committed on first use costs what is used of it.
template <class... BlocksAndPolicies>
class pool_set
    : public detail::pool_set_face<pool_set<BlocksAndPolicies...>, BlocksAndPolicies...> {
  using face = detail::pool_set_face<pool_set, BlocksAndPolicies...>;
  using typename face::classes_type;
  friend face;

 public:
  using source_type = pick_policy<source_kind, void, BlocksAndPolicies...>;
  using typename face::exhaustion_type;
  static_assert(!std::is_void_v<source_type>,
                "a pool_set takes a page source among its arguments; static_pool_set has none");
  /// Bytes and alignment of the piece.
  static constexpr std::size_t piece_bytes = sizeof(classes_type);
  static constexpr std::size_t piece_alignment = alignof(classes_type);

  /// Effects: one piece of `source`; a set whose source has none is empty. Throws: nothing.
  explicit pool_set(source_type source = {}, exhaustion_type exhaustion = {}) noexcept
      : face(std::move(exhaustion)), source_(std::move(source)) {
    if (void* const piece = source_.allocate(piece_bytes, piece_alignment)) {
      classes_ = ::new (piece) classes_type;
    }
  }

  /// Blocks keep their addresses and belong to the new set; `other` is empty. Requires: nobody uses
  /// `other` meanwhile.
  pool_set(pool_set&& other) noexcept
      : face(std::move(other.exhaustion_)),
        source_(std::move(other.source_)),
        classes_(std::exchange(other.classes_, nullptr)) {}
  /// As the destructor for what this set had, then as above.
  pool_set& operator=(pool_set&& other) noexcept {
    pool_set taken(std::move(other));
    swap(*this, taken);
    return *this;
  }
  friend void swap(pool_set& a, pool_set& b) noexcept {
    using std::swap;
    swap(a.exhaustion_, b.exhaustion_);
    swap(a.source_, b.source_);
    swap(a.classes_, b.classes_);
  }

  ~pool_set() {
    if (classes_ == nullptr) return;
    classes_->~classes_type();
    source_.deallocate(classes_, piece_bytes, piece_alignment);
  }

  /// Returns: whether the page source had the piece.
  [[nodiscard]] bool has_memory() const noexcept { return classes_ != nullptr; }

 private:
  static constexpr bool may_have_no_memory = true;
  [[nodiscard]] ASHLAR_HOT classes_type* classes() noexcept { return classes_; }
  [[nodiscard]] ASHLAR_HOT const classes_type* classes() const noexcept { return classes_; }

  [[no_unique_address]] source_type source_;
  classes_type* classes_ = nullptr;
};

}  // namespace ashlar
