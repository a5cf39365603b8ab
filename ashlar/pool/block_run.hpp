// pool/block_run.hpp: blocks side by side, and which of them have been carved.
// Layer: pool (freestanding). Includes: core. Not for users: the pools are built of these.
// Invariant: carved <= capacity; the carved blocks are 0 ... carved - 1, and only their states,
// links and bytes have ever been written (no initialisation pass).
//
//   inline_run  storage inside, everything but `carved` a constant      static_pool
//   block_run   storage of a caller                                     fixed_pool
//   grown_run   storage from a page source, slab by slab                fixed_pool with a source
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exact_divisor.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/number_list.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/tagged_stack.hpp>
#include <ashlar/pool/block_layout.hpp>

namespace ashlar::detail {

template <class Lock, class Link>
struct index_for {
  using type = Link;
};
template <class Word, class Link>
struct index_for<lock_free<Word>, Link> {
  using type = typename tagged_stack<Word>::index_type;
};

/// The links of a run whose count is known at run time: 2^32 - 3 blocks side by side are enough.
using run_time_link = std::conditional_t<(sizeof(std::size_t) > 4), std::uint32_t, std::size_t>;

/// What the policies mean for a run, whose links are as wide as `Link` where it numbers its blocks.
template <class Check, class Lock, class Link = run_time_link>
struct run_traits {
  static constexpr bool shared = is_lock_free_policy<Lock>;
  static constexpr bool tracks_state = Check::tracks_state;
  /// The run keeps which blocks are free, by their numbers; else a list or stack of the pool does.
  static constexpr bool numbered = tracks_state && !shared;
  /// Where many callers come at a time, a link cannot say that its block is in use: a late reader may want it still.
  static constexpr bool keeps_states = tracks_state && shared;
  static constexpr bool needs_index = shared || tracks_state;
  using index_type = typename index_for<Lock, Link>::type;
  using list = number_list<index_type>;
  using links_at = std::conditional_t<numbered, typename list::array, index_type>;
  static constexpr std::size_t first_index = numbered ? 1 : 0;
  /// No block's index.
  static constexpr std::size_t none = numbered ? 0 : SIZE_MAX;

  static constexpr block_upkeep upkeep{!shared, Check::guards_bytes,
                                       needs_index ? sizeof(index_type) : 0,
                                       (keeps_states ? 1u : 0u), numbered ? 1u : 0u};
  static constexpr std::size_t max_blocks = [] {
    if constexpr (shared) {
      return std::size_t{std::numeric_limits<index_type>::max()} - 1;
    } else if constexpr (numbered) {
      return list::max_count;
    } else {
      return std::size_t{SIZE_MAX};
    }
  }();

  /// Whether tools may be told of these blocks: two threads never change what a tool keeps of one granule, by a
  /// lock or because no two blocks share one.
  [[nodiscard]] static constexpr bool may_tell(const slot_shape& shape) noexcept {
    return !shared || ((shape.alignment | shape.stride) & (tool_granule - 1)) == 0;
  }
};

/// One run as a plain body sees it: for the cold paths, which are shared by all pools.
struct run_view {
  const std::byte* base;
  std::size_t stride;
  std::size_t capacity;
  std::size_t carved;
  const void*
      marks;  ///< links, or states where the run is shared; null where neither tells what is in use

  [[nodiscard]] bool contains(const void* p) const noexcept {
    return bytes_from(base, p) < capacity * stride;
  }
  /// Returns: whether `p` is the start of a carved block.
  [[nodiscard]] bool is_carved_block(const void* p) const noexcept {
    return contains(p) && bytes_from(base, p) % stride == 0 &&
           bytes_from(base, p) / stride < carved;
  }
  /// Returns: whether the i-th block from the base is in use. Requires: Traits::tracks_state; i < carved.
  template <class Traits>
  [[nodiscard]] bool is_live(std::size_t i) const noexcept {
    if constexpr (Traits::shared) {
      auto& state = const_cast<block_state&>(static_cast<const block_state*>(marks)[i]);
      return std::atomic_ref(state).load(std::memory_order_acquire) == block_state::live;
    } else {
      return static_cast<const typename Traits::index_type*>(marks)[i + 1] == Traits::list::live;
    }
  }
};

/// A place in a walk over all runs of a pool, the newest first.
struct run_cursor {
  run_view view;
  const void* older;  ///< to be told to run_of(); null at the last run
};

/// Returns: why `p`, an address inside `run`, cannot be freed.
[[nodiscard]] ASHLAR_COLD inline fault_kind judge(const run_view& run, const void* p) noexcept {
  if (bytes_from(run.base, p) % run.stride != 0) return fault_kind::interior_pointer;
  if (bytes_from(run.base, p) / run.stride >= run.carved) return fault_kind::not_in_use;
  return fault_kind::double_free;
}

/// Where carving stands, for many callers at a time.
template <class Index>
class shared_mark {
 public:
  constexpr shared_mark() noexcept = default;
  [[nodiscard]] ASHLAR_HOT std::size_t carved() const noexcept {
    return carved_.load(std::memory_order_relaxed);
  }
  /// Returns: the index of a block that was never in use, or SIZE_MAX when there is none.
  std::size_t advance(std::size_t capacity) noexcept {
    Index seen = carved_.load(std::memory_order_relaxed);
    while (seen < capacity) {
      if (carved_.compare_exchange_weak(seen, static_cast<Index>(seen + 1),
                                        std::memory_order_relaxed)) {
        return seen;
      }
    }
    return SIZE_MAX;
  }

 private:
  std::atomic<Index> carved_{0};
};

/// The same for one at a time.
class plain_mark {
 public:
  constexpr plain_mark() noexcept = default;
  [[nodiscard]] std::size_t carved() const noexcept { return carved_; }
  std::size_t advance(std::size_t capacity) noexcept {
    return carved_ < capacity ? carved_++ : SIZE_MAX;
  }

 private:
  std::size_t carved_ = 0;
};

/// What a run knows of its blocks beside their links.
template <class Traits>
using mark_for =
    std::conditional_t<Traits::shared, shared_mark<typename Traits::index_type>,
                       std::conditional_t<Traits::numbered, typename Traits::list, plain_mark>>;

/// Bytes that nobody initialises: in static storage they are in .bss, elsewhere left as they are.
template <std::size_t Size, std::size_t Alignment>
union raw_bytes {
  constexpr raw_bytes() noexcept : unused() {}
  char unused;
  alignas(Alignment) std::byte bytes[Size];
};

/// Returns: the index of a block of `run` that was never in use; Traits::none when there is none.
template <class Run>
[[nodiscard]] std::size_t advance_mark(Run& run, std::size_t capacity) noexcept {
  if constexpr (Run::traits::numbered) {
    return run.mark().carve(run.links(), capacity);
  } else {
    return run.mark().advance(capacity);
  }
}
/// Returns: what a view of `run` tells blocks in use by.
template <class Run>
[[nodiscard]] const void* marks_of(const Run& run) noexcept {
  if constexpr (Run::traits::numbered) {
    return run.links();
  } else if constexpr (Run::traits::tracks_state) {
    return run.states();
  } else {
    return nullptr;
  }
}

template <std::size_t BlockSize, std::size_t Alignment, std::size_t Count, class Traits>
class inline_run {
 public:
  using traits = Traits;
  static constexpr bool grows = false;
  static constexpr bool is_swappable = false;
  static constexpr slot_shape shape = shape_of({BlockSize, Alignment}, Traits::upkeep);
  static_assert(is_power_of_two(Alignment), "an alignment is a power of two");
  static_assert(Count <= Traits::max_blocks, "more blocks than the lock-free word can number");
  static_assert(run_bytes(shape, Traits::upkeep, Count) < SIZE_MAX / 2, "the storage is too large");

  // Not defaulted: `inline_run()` would then set the whole storage to zero before.
  constexpr inline_run() noexcept {}  // NOLINT(modernize-use-equals-default)
  inline_run(const inline_run&) = delete;
  inline_run& operator=(const inline_run&) = delete;

  // The base is computed from `this`, not stored: a pool whose every byte is zero goes to .bss,
  // while one stored address would put the whole storage into the image.
  [[nodiscard]] std::byte* base() const noexcept {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&blocks_));
  }
  [[nodiscard]] static constexpr std::size_t block_size() noexcept { return shape.block_size; }
  [[nodiscard]] static constexpr std::size_t alignment() noexcept { return shape.alignment; }
  [[nodiscard]] static constexpr std::size_t stride() noexcept { return shape.stride; }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Count; }
  [[nodiscard]] static constexpr std::size_t limit() noexcept { return Count; }
  [[nodiscard]] std::size_t carved() const noexcept { return mark_.carved(); }
  [[nodiscard]] std::size_t blocks_made() const noexcept { return mark_.carved(); }

  [[nodiscard]] ASHLAR_HOT std::size_t index_of(const void* p) const noexcept {
    return divisor.quotient(reinterpret_cast<std::uintptr_t>(p) - origin());
  }
  [[nodiscard]] ASHLAR_HOT std::byte* at(std::size_t i) const noexcept {
    return base() + (i - Traits::first_index) * shape.stride;
  }
  /// Returns: the one address with index_of() == i, in the run or not.
  [[nodiscard]] void* address_of(std::size_t i) const noexcept {
    return reinterpret_cast<void*>(origin() + divisor.dividend(i, shape.stride));
  }
  [[nodiscard]] ASHLAR_HOT auto* links() const noexcept {
    return const_cast<typename Traits::links_at*>(
        reinterpret_cast<const typename Traits::links_at*>(&links_));
  }
  [[nodiscard]] block_state* states() const noexcept {
    return const_cast<block_state*>(reinterpret_cast<const block_state*>(&states_));
  }
  [[nodiscard]] ASHLAR_HOT auto& mark() noexcept { return mark_; }
  [[nodiscard]] ASHLAR_HOT const auto& mark() const noexcept { return mark_; }
  std::size_t advance() noexcept {
    const std::size_t i = advance_mark(*this, Count);
    // A constant initialiser tells nothing, so the first block tells for all. Not where another thread may have the
    // second already.
    if constexpr (tools_present && !Traits::shared) {
      if (i == Traits::first_index) tell_closed(base(), Count * shape.stride);
    }
    return i;
  }
  /// As advance. (A run of several slabs has a shorter way to a block of the slab in use.)
  std::size_t advance_here() noexcept { return advance(); }

  [[nodiscard]] run_view view() const noexcept {
    return {base(), shape.stride, Count, carved(), marks_of(*this)};
  }
  [[nodiscard]] run_cursor first_run() const noexcept { return {view(), nullptr}; }
  template <class Visit>
  void each_run(Visit visit) const noexcept {
    visit(view());
  }
  template <class Visit>
  void each_list(Visit visit) const noexcept {
    visit(mark_, links());
  }

 private:
  static constexpr exact_divisor<> divisor{shape.stride};
  static constexpr std::size_t room = Count == 0 ? 1 : Count;
  static constexpr std::size_t links_room = room + Traits::upkeep.spare_links;
  using links_type = std::conditional_t<
      Traits::needs_index,
      raw_bytes<links_room * Traits::upkeep.link_bytes + (Traits::needs_index ? 0 : 1),
                alignof(typename Traits::index_type)>,
      nothing<1>>;
  using states_type = std::conditional_t<Traits::keeps_states, raw_bytes<room, 1>, nothing<2>>;

  /// Where a block of index 0 is or would be.
  [[nodiscard]] ASHLAR_HOT std::uintptr_t origin() const noexcept {
    return reinterpret_cast<std::uintptr_t>(&blocks_) - Traits::first_index * shape.stride;
  }

  mark_for<Traits> mark_;
  [[no_unique_address]] links_type links_;
  [[no_unique_address]] states_type states_;
  raw_bytes<room * shape.stride, shape.alignment> blocks_;
};

template <class Traits>
class block_run {
 public:
  using traits = Traits;
  static constexpr bool grows = false;
  static constexpr bool is_swappable = !Traits::shared;
  using index_type = typename Traits::index_type;

  /// Requires: block.alignment is a power of two, else ashlar_fault(bad_argument).
  constexpr explicit block_run(block_layout block) noexcept {
    if (!is_power_of_two(block.alignment)) [[unlikely]] {
      ashlar_fault({fault_kind::bad_argument, "fixed_pool", nullptr, block.size_bytes});
    }
    shape_ = shape_of(block, Traits::upkeep);
    if constexpr (Traits::needs_index) {
      if (shape_.stride != 0) divisor_ = exact_divisor<>(shape_.stride);
    }
  }
  block_run(block_layout block, std::span<std::byte> storage) noexcept : block_run(block) {
    const std::size_t skip = -reinterpret_cast<std::uintptr_t>(storage.data()) &
                             (base_alignment(shape_, Traits::upkeep) - 1);
    if (storage.size() > skip) {
      set_run(storage.data() + skip, blocks_in(shape_, Traits::upkeep, storage.size() - skip));
    }
  }
  block_run(block_run&& other) noexcept
    requires(!Traits::shared)
      : mark_(std::exchange(other.mark_, {})),
        origin_(std::exchange(other.origin_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        shape_(other.shape_),
        divisor_(other.divisor_),
        links_(other.links_) {}
  block_run& operator=(block_run&&) = delete;
  friend void swap(block_run& a, block_run& b) noexcept
    requires(!Traits::shared)
  {
    using std::swap;
    swap(a.mark_, b.mark_);
    swap(a.origin_, b.origin_);
    swap(a.capacity_, b.capacity_);
    swap(a.shape_, b.shape_);
    swap(a.divisor_, b.divisor_);
    swap(a.links_, b.links_);
  }

  [[nodiscard]] std::byte* base() const noexcept { return at(Traits::first_index); }
  [[nodiscard]] std::size_t block_size() const noexcept { return shape_.block_size; }
  [[nodiscard]] std::size_t alignment() const noexcept { return shape_.alignment; }
  [[nodiscard]] std::size_t stride() const noexcept { return shape_.stride; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t limit() const noexcept { return capacity_; }
  [[nodiscard]] ASHLAR_HOT std::size_t carved() const noexcept { return mark_.carved(); }
  [[nodiscard]] std::size_t blocks_made() const noexcept { return mark_.carved(); }

  [[nodiscard]] ASHLAR_HOT std::size_t index_of(const void* p) const noexcept {
    return divisor_.quotient(reinterpret_cast<std::uintptr_t>(p) - origin_);
  }
  [[nodiscard]] ASHLAR_HOT std::byte* at(std::size_t i) const noexcept {
    return reinterpret_cast<std::byte*>(origin_ + i * shape_.stride);
  }
  /// Returns: the one address with index_of() == i, in the run or not.
  [[nodiscard]] void* address_of(std::size_t i) const noexcept {
    const std::size_t divisor = shape_.stride == 0 ? 1 : shape_.stride;
    return reinterpret_cast<void*>(origin_ + divisor_.dividend(i, divisor));
  }
  [[nodiscard]] ASHLAR_HOT auto* links() const noexcept {
    return reinterpret_cast<typename Traits::links_at*>(links_);
  }
  [[nodiscard]] ASHLAR_HOT auto states() const noexcept { return states_; }
  [[nodiscard]] ASHLAR_HOT auto& mark() noexcept { return mark_; }
  [[nodiscard]] ASHLAR_HOT const auto& mark() const noexcept { return mark_; }
  std::size_t advance() noexcept { return advance_mark(*this, capacity_); }
  std::size_t advance_here() noexcept { return advance(); }

  [[nodiscard]] run_view view() const noexcept {
    return {base(), shape_.stride, capacity_, carved(), marks_of(*this)};
  }
  [[nodiscard]] run_cursor first_run() const noexcept { return {view(), nullptr}; }
  template <class Visit>
  void each_run(Visit visit) const noexcept {
    if (capacity_ != 0) visit(view());
  }
  template <class Visit>
  void each_list(Visit visit) const noexcept {
    if (capacity_ != 0) visit(mark_, links());
  }

 protected:
  /// Effects: `count` fresh blocks in the bytes at `start`, which are aligned and many enough.
  void set_run(std::byte* start, std::size_t count) noexcept {
    if (count > Traits::max_blocks) count = Traits::max_blocks;
    std::byte* const base = start + blocks_offset(shape_, Traits::upkeep, count);
    origin_ = reinterpret_cast<std::uintptr_t>(base) - Traits::first_index * shape_.stride;
    capacity_ = count;
    if constexpr (Traits::needs_index) links_ = reinterpret_cast<index_type*>(start);
    if constexpr (Traits::keeps_states) {
      states_ = reinterpret_cast<block_state*>(start + count * sizeof(index_type));
    }
    if constexpr (!Traits::shared) mark_ = {};
    if constexpr (tools_present) {
      if (Traits::may_tell(shape_)) tell_closed(base, count * shape_.stride);
    }
  }

  mark_for<Traits> mark_;
  std::uintptr_t origin_ = 0;  ///< where a block of index 0 is or would be
  std::size_t capacity_ = 0;
  slot_shape shape_{};
  [[no_unique_address]] std::conditional_t<Traits::needs_index, exact_divisor<>, nothing<3>>
      divisor_{};
  [[no_unique_address]] std::conditional_t<Traits::needs_index, index_type*, nothing<4>> links_{};
  [[no_unique_address]] std::conditional_t<Traits::keeps_states, block_state*, nothing<5>>
      states_{};
};

/// The head of a piece that came from a page source; the run's links and blocks follow it. Where blocks are
/// numbered, each slab has a list of its own: a number then says where the block is without a search.
template <class Traits>
struct slab_head {
  slab_head* older;
  std::size_t piece_bytes;
  // What the pool has at hand of the slab in use, and keeps here of the others.
  mark_for<Traits> mark;
  std::uintptr_t origin;
  std::size_t capacity;
  typename Traits::index_type* links;
  slab_head* next_freed;  ///< under this one on the stack of slabs that have free blocks

  [[nodiscard]] auto* array() const noexcept {
    return reinterpret_cast<typename Traits::links_at*>(links);
  }
};

/// Slabs from a page source, one of them in use; they go back when the pool ends, not before.
/// Invariant: every slab but the newest is carved completely; blocks_made == capacity() - what the newest has not
/// carved <= limit. A slab is on the stack of freed ones iff it is not in use and its list is not empty.
template <class Traits, class Source>
class grown_run : public block_run<Traits> {
  using plain = block_run<Traits>;
  using slab = slab_head<Traits>;

 public:
  static constexpr bool grows = !Traits::shared;
  static constexpr bool is_swappable = !Traits::shared && std::is_swappable_v<Source>;

  constexpr grown_run(block_layout block, Source source, std::size_t first_slab,
                      std::size_t max_slab, std::size_t limit) noexcept
      : plain(block),
        source_(std::move(source)),
        next_slab_(first_slab),
        max_slab_(max_slab),
        limit_(limit) {}

  grown_run(grown_run&& other) noexcept
    requires(!Traits::shared)
      : plain(static_cast<plain&&>(other)),  // that part alone is moved: the rest is taken below
        source_(std::move(other.source_)),
        newest_(std::exchange(other.newest_, nullptr)),
        in_use_(std::exchange(other.in_use_, nullptr)),
        freed_(std::exchange(other.freed_, nullptr)),
        found_last_(std::exchange(other.found_last_, nullptr)),
        all_blocks_(std::exchange(other.all_blocks_, 0)),
        next_slab_(other.next_slab_),
        max_slab_(other.max_slab_),
        limit_(std::exchange(other.limit_, 0)),
        ready_(std::exchange(other.ready_, 0)) {}

  friend void swap(grown_run& a, grown_run& b) noexcept
    requires is_swappable
  {
    using std::swap;
    swap(static_cast<plain&>(a), static_cast<plain&>(b));
    swap(a.source_, b.source_);
    swap(a.newest_, b.newest_);
    swap(a.in_use_, b.in_use_);
    swap(a.freed_, b.freed_);
    swap(a.found_last_, b.found_last_);
    swap(a.all_blocks_, b.all_blocks_);
    swap(a.next_slab_, b.next_slab_);
    swap(a.max_slab_, b.max_slab_);
    swap(a.limit_, b.limit_);
    swap(a.ready_, b.ready_);
  }

  ~grown_run() {
    while (newest_ != nullptr) {
      slab* const s = newest_;
      newest_ = s->older;
      source_.deallocate(s, s->piece_bytes, piece_alignment());
    }
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return all_blocks_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t blocks_made() const noexcept {
    if (newest_ == nullptr) return 0;
    const run_view newest = view_of(*newest_);
    return all_blocks_ - (newest.capacity - newest.carved);
  }

  /// Effects: adds one slab, which is then in use: as many blocks as there are already (so that a pool of n blocks
  /// has O(log n) slabs), within the bounds given; half as many while the source refuses.
  /// Returns: false when the limit is reached or the source has nothing. Requires: all is carved.
  bool grow() noexcept {
    std::size_t count = max_of(min_of(next_slab_, max_slab_), 1);
    if (count > limit_ - capacity()) count = limit_ - capacity();
    count = min_of(count, Traits::max_blocks);
    for (; count != 0; count /= 2) {
      if (add_slab(count)) {
        next_slab_ = capacity();
        return true;
      }
    }
    return false;
  }
  /// Effects: one slab of exactly `count` blocks, in use then, or none. Returns: whether it is there.
  bool add_slab(std::size_t count) noexcept {
    const std::size_t head = align_up(sizeof(slab), base_alignment(this->shape_, Traits::upkeep));
    std::size_t bytes = run_bytes(this->shape_, Traits::upkeep, count);
    if (count == 0 || bytes == SIZE_MAX || __builtin_add_overflow(bytes, head, &bytes)) {
      return false;
    }
    void* const piece = source_.allocate(bytes, piece_alignment());
    if (piece == nullptr) return false;
    put_aside();
    this->set_run(static_cast<std::byte*>(piece) + head, count);
    ready_ = 0;
    newest_ = in_use_ = ::new (piece) slab{newest_, bytes, {}, 0, 0, nullptr, nullptr};
    all_blocks_ += count;
    return true;
  }
  /// Effects: carves, in the newest slab, which is in use then. Returns: as block_run's.
  std::size_t advance() noexcept {
    if constexpr (Traits::numbered) {
      if (in_use_ != newest_) {
        const run_view newest = view_of(*newest_);
        if (newest.carved == newest.capacity) return Traits::none;
        put_in_use(newest_);
      }
    }
    if constexpr (!Traits::shared) {
      if (this->carved() >= ready_) make_ready();
    }
    return plain::advance();
  }
  /// As advance, but gives Traits::none too where advance has to look at other slabs or to make
  /// blocks ready.
  std::size_t advance_here() noexcept {
    if (freed_ != nullptr || in_use_ != newest_) return Traits::none;
    return advance_mark(*this, ready_);
  }
  /// Effects: a slab that has free blocks is in use. Returns: false when there is none. O(1).
  /// Requires: the list of the slab in use is empty.
  bool use_freed_slab() noexcept {
    if (freed_ == nullptr) return false;
    put_in_use(std::exchange(freed_, freed_->next_freed));
    return true;
  }

  [[nodiscard]] run_cursor first_run() const noexcept {
    if (newest_ == nullptr) return {plain::view(), nullptr};
    return {view_of(*newest_), newest_->older};
  }
  /// Requires: `older` was in a cursor of a run of this type.
  [[nodiscard]] run_cursor run_of(const void* older) const noexcept {
    const auto* const s = static_cast<const slab*>(older);
    return {view_of(*s), s->older};
  }

  /// Effects: what is there is all there will be.
  void freeze() noexcept { limit_ = capacity(); }

  template <class Visit>
  void each_run(Visit visit) const noexcept {
    for (const slab* s = newest_; s != nullptr; s = s->older) visit(view_of(*s));
  }
  template <class Visit>
  void each_list(Visit visit) const noexcept {
    for (const slab* s = newest_; s != nullptr; s = s->older) {
      if (s == in_use_)
        visit(this->mark_, this->links());
      else
        visit(s->mark, s->array());
    }
  }

  /// A block of a slab that is not in use; no slab: there is none.
  struct block_place {
    slab* of = nullptr;
    std::size_t number = 0;
  };
  /// Returns: where `p` is, if a carved block starts there in a slab that is not in use.
  /// Complexity: O(slabs); O(1) while it is the slab that was found last.
  [[nodiscard]] ASHLAR_COLD block_place find_aside(const void* p) const noexcept {
    if (const block_place place = place_in(found_last_, p); place.of != nullptr) return place;
    for (slab* s = newest_; s != nullptr; s = s->older) {
      if (const block_place place = place_in(s, p); place.of != nullptr) {
        found_last_ = s;
        return place;
      }
    }
    return {};
  }
  /// Requires: `place` has a slab, and the block is not free.
  ASHLAR_COLD void put_free_aside(block_place place) noexcept {
    if (place.of->mark.first() == 0) place.of->next_freed = std::exchange(freed_, place.of);
    place.of->mark.push(place.of->array(), place.number);
  }

 private:
  /// Effects: more blocks of the newest slab may be carved. Their memory is populated first where
  /// the source can: by an eighth of what the pool has used, so that what is in memory ahead of its
  /// use is in proportion to that. Nothing is populated while that eighth is small. Requires: the
  /// newest slab is in use.
  void make_ready() noexcept {
    if constexpr (populating_source<Source>) {
      const std::size_t stride = max_of(this->stride(), 1);
      const std::size_t ahead = blocks_made() * stride / 8;
      const std::size_t done = this->carved();
      ready_ = min_of(this->capacity_, done + max_of(ahead, least_populated) / stride + 1);
      if (ahead < least_populated || done >= ready_) return;
      const std::size_t first = Traits::first_index + done;
      source_.populate(this->at(first), (ready_ - done) * stride);
      if constexpr (Traits::needs_index) {
        source_.populate(this->links_ + first, (ready_ - done) * sizeof(*this->links_));
      }
    } else {
      ready_ = this->capacity_;
    }
  }
  [[nodiscard]] block_place place_in(slab* s, const void* p) const noexcept {
    if (s == nullptr || s == in_use_) return {};
    const std::size_t n = this->divisor_.quotient(reinterpret_cast<std::uintptr_t>(p) - s->origin);
    return n - Traits::first_index < s->mark.carved() ? block_place{s, n} : block_place{};
  }
  [[nodiscard]] run_view view_of(const slab& s) const noexcept {
    if (&s == in_use_) return plain::view();
    const auto* const base =
        reinterpret_cast<const std::byte*>(s.origin + Traits::first_index * this->shape_.stride);
    return {base, this->shape_.stride, s.capacity, s.mark.carved(), s.links};
  }

  /// Effects: what the pool had at hand of the slab in use is in its head.
  void put_aside() noexcept {
    if constexpr (!Traits::shared) {
      if (in_use_ == nullptr) return;
      in_use_->mark = this->mark_;
      in_use_->origin = this->origin_;
      in_use_->capacity = this->capacity_;
      if constexpr (Traits::needs_index) in_use_->links = this->links_;
    }
  }
  void put_in_use(slab* s) noexcept {
    put_aside();
    in_use_ = s;
    this->mark_ = s->mark;
    this->origin_ = s->origin;
    this->capacity_ = s->capacity;
    this->links_ = s->links;
  }
  [[nodiscard]] std::size_t piece_alignment() const noexcept {
    return this->shape_.alignment > alignof(slab) ? this->shape_.alignment : alignof(slab);
  }

  [[no_unique_address]] Source source_;
  slab* newest_ = nullptr;
  slab* in_use_ = nullptr;
  slab* freed_ = nullptr;               ///< slabs aside that have free blocks, linked by next_freed
  mutable slab* found_last_ = nullptr;  ///< a slab of this run, or null
  std::size_t all_blocks_ = 0;
  std::size_t next_slab_;
  std::size_t max_slab_;
  std::size_t limit_;
  std::size_t ready_ = 0;  ///< blocks of the newest slab that advance_here may carve
};

}  // namespace ashlar::detail
