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
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/tagged_stack.hpp>
#include <ashlar/pool/block_layout.hpp>

namespace ashlar::detail {

template <class Lock>
struct index_for {
  using type = nothing<0>;
};
template <class Word>
struct index_for<lock_free<Word>> {
  using type = typename tagged_stack<Word>::index_type;
};

/// What the policies mean for a run.
template <class Check, class Lock>
struct run_traits {
  static constexpr bool shared = is_lock_free_policy<Lock>;
  static constexpr bool tracks_state = Check::tracks_state;
  static constexpr bool needs_index = shared || tracks_state;
  using index_type = typename index_for<Lock>::type;
  using carved_type = std::conditional_t<shared, std::atomic<index_type>, std::size_t>;

  static constexpr block_upkeep upkeep{!shared, Check::guards_bytes,
                                       shared ? sizeof(index_type) : 0, tracks_state ? 1u : 0u};
  static constexpr std::size_t max_blocks = [] {
    if constexpr (shared) {
      return std::size_t{std::numeric_limits<index_type>::max()} - 1;
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
  const block_state* states;  ///< null where states are not kept

  [[nodiscard]] bool contains(const void* p) const noexcept {
    return bytes_from(base, p) < capacity * stride;
  }
  /// Returns: whether `p` is the start of a carved block.
  [[nodiscard]] bool is_carved_block(const void* p) const noexcept {
    return contains(p) && bytes_from(base, p) % stride == 0 &&
           bytes_from(base, p) / stride < carved;
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

/// The watermark, for one caller at a time or for many.
template <class Traits>
class watermark {
 public:
  constexpr watermark() noexcept = default;
  constexpr watermark(watermark&& other) noexcept
    requires(!Traits::shared)
      : carved_(std::exchange(other.carved_, 0)) {}
  friend constexpr void swap(watermark& a, watermark& b) noexcept
    requires(!Traits::shared)
  {
    std::swap(a.carved_, b.carved_);
  }

  [[nodiscard]] ASHLAR_HOT std::size_t carved() const noexcept {
    if constexpr (Traits::shared) {
      return carved_.load(std::memory_order_relaxed);
    } else {
      return carved_;
    }
  }
  /// Returns: the index of a block that was never in use, or SIZE_MAX when there is none.
  std::size_t advance(std::size_t capacity) noexcept {
    if constexpr (Traits::shared) {
      using index = typename Traits::index_type;
      index seen = carved_.load(std::memory_order_relaxed);
      while (seen < capacity) {
        if (carved_.compare_exchange_weak(seen, static_cast<index>(seen + 1),
                                          std::memory_order_relaxed)) {
          return seen;
        }
      }
      return SIZE_MAX;
    } else {
      return carved_ < capacity ? carved_++ : SIZE_MAX;
    }
  }
  void restart() noexcept
    requires(!Traits::shared)
  {
    carved_ = 0;
  }

 private:
  typename Traits::carved_type carved_{0};
};

/// Bytes that nobody initialises: in static storage they are in .bss, elsewhere left as they are.
template <std::size_t Size, std::size_t Alignment>
union raw_bytes {
  constexpr raw_bytes() noexcept : unused() {}
  char unused;
  alignas(Alignment) std::byte bytes[Size];
};

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
  [[nodiscard]] static constexpr std::size_t link_offset() noexcept {
    return Traits::upkeep.link_offset(shape.block_size);
  }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Count; }
  [[nodiscard]] static constexpr std::size_t limit() noexcept { return Count; }
  [[nodiscard]] std::size_t carved() const noexcept { return mark_.carved(); }
  [[nodiscard]] std::size_t blocks_made() const noexcept { return mark_.carved(); }

  [[nodiscard]] ASHLAR_HOT std::size_t index_of(const void* p) const noexcept {
    return divisor.quotient(bytes_from(base(), p));
  }
  [[nodiscard]] ASHLAR_HOT std::byte* at(std::size_t i) const noexcept {
    return base() + i * shape.stride;
  }
  [[nodiscard]] auto* links() const noexcept {
    return const_cast<typename Traits::index_type*>(
        reinterpret_cast<const typename Traits::index_type*>(&links_));
  }
  [[nodiscard]] block_state* states() const noexcept {
    return const_cast<block_state*>(reinterpret_cast<const block_state*>(&states_));
  }
  std::size_t advance() noexcept {
    const std::size_t i = mark_.advance(Count);
    // A constant initialiser tells nothing, so the first block tells for all. Not where another thread may have the
    // second already.
    if constexpr (tools_present && !Traits::shared) {
      if (i == 0) tell_closed(base(), Count * shape.stride);
    }
    return i;
  }

  [[nodiscard]] run_view view() const noexcept {
    return {base(), shape.stride, Count, carved(), Traits::tracks_state ? states() : nullptr};
  }
  [[nodiscard]] run_cursor first_run() const noexcept { return {view(), nullptr}; }
  template <class Visit>
  void each_run(Visit visit) const noexcept {
    visit(view());
  }

 private:
  static constexpr exact_divisor<> divisor{shape.stride};
  static constexpr std::size_t room = Count == 0 ? 1 : Count;
  using links_type =
      std::conditional_t<Traits::shared,
                         raw_bytes<room * Traits::upkeep.link_bytes + (Traits::shared ? 0 : 1),
                                   alignof(typename Traits::index_type)>,
                         nothing<1>>;
  using states_type = std::conditional_t<Traits::tracks_state, raw_bytes<room, 1>, nothing<2>>;

  watermark<Traits> mark_;
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
      : mark_(std::move(other.mark_)),
        base_(std::exchange(other.base_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)),
        shape_(other.shape_),
        divisor_(other.divisor_),
        links_(other.links_),
        states_(other.states_) {}
  block_run& operator=(block_run&&) = delete;
  friend void swap(block_run& a, block_run& b) noexcept
    requires(!Traits::shared)
  {
    using std::swap;
    swap(a.mark_, b.mark_);
    swap(a.base_, b.base_);
    swap(a.capacity_, b.capacity_);
    swap(a.shape_, b.shape_);
    swap(a.divisor_, b.divisor_);
    swap(a.states_, b.states_);
  }

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t block_size() const noexcept { return shape_.block_size; }
  [[nodiscard]] std::size_t alignment() const noexcept { return shape_.alignment; }
  [[nodiscard]] std::size_t stride() const noexcept { return shape_.stride; }
  [[nodiscard]] std::size_t link_offset() const noexcept {
    return Traits::upkeep.link_offset(shape_.block_size);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t limit() const noexcept { return capacity_; }
  [[nodiscard]] ASHLAR_HOT std::size_t carved() const noexcept { return mark_.carved(); }
  [[nodiscard]] std::size_t blocks_made() const noexcept { return mark_.carved(); }

  [[nodiscard]] ASHLAR_HOT std::size_t index_of(const void* p) const noexcept {
    return divisor_.quotient(bytes_from(base_, p));
  }
  [[nodiscard]] ASHLAR_HOT std::byte* at(std::size_t i) const noexcept {
    return base_ + i * shape_.stride;
  }
  [[nodiscard]] ASHLAR_HOT auto links() const noexcept { return links_; }
  [[nodiscard]] ASHLAR_HOT auto states() const noexcept { return states_; }
  std::size_t advance() noexcept { return mark_.advance(capacity_); }

  [[nodiscard]] run_view view() const noexcept {
    const block_state* states = nullptr;
    if constexpr (Traits::tracks_state) states = states_;
    return {base_, shape_.stride, capacity_, carved(), states};
  }
  [[nodiscard]] run_cursor first_run() const noexcept { return {view(), nullptr}; }
  template <class Visit>
  void each_run(Visit visit) const noexcept {
    if (capacity_ != 0) visit(view());
  }

 protected:
  void set_run(std::byte* base, std::size_t count) noexcept {
    if (count > Traits::max_blocks) count = Traits::max_blocks;
    base_ = base;
    capacity_ = count;
    if constexpr (Traits::shared) {
      links_ = reinterpret_cast<index_type*>(base + links_offset(shape_, Traits::upkeep, count));
    }
    if constexpr (Traits::tracks_state) {
      states_ = reinterpret_cast<block_state*>(base + links_offset(shape_, Traits::upkeep, count) +
                                               count * Traits::upkeep.link_bytes);
    }
    if constexpr (!Traits::shared) mark_.restart();
    if constexpr (tools_present) {
      if (Traits::may_tell(shape_)) tell_closed(base, count * shape_.stride);
    }
  }

  watermark<Traits> mark_;
  std::byte* base_ = nullptr;
  std::size_t capacity_ = 0;
  slot_shape shape_{};
  [[no_unique_address]] std::conditional_t<Traits::needs_index, exact_divisor<>, nothing<3>>
      divisor_{};
  [[no_unique_address]] std::conditional_t<Traits::shared, index_type*, nothing<4>> links_{};
  [[no_unique_address]] std::conditional_t<Traits::tracks_state, block_state*, nothing<5>>
      states_{};
};

/// The head of a piece that came from a page source; the run follows it.
struct slab_head {
  slab_head* older;
  std::size_t piece_bytes;
  std::byte* base;
  std::size_t capacity;
  block_state* states;
};

/// Slabs from a page source; the newest is the run. Slabs go back when the pool ends, not before.
/// Invariant: every slab but the newest is carved completely; blocks_made == blocks of the older
/// slabs + carved <= limit.
template <class Traits, class Source>
class grown_run : public block_run<Traits> {
  using plain = block_run<Traits>;

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
      : plain(std::move(other)),
        source_(std::move(other.source_)),
        newest_(std::exchange(other.newest_, nullptr)),
        found_last_(std::exchange(other.found_last_, nullptr)),
        older_blocks_(std::exchange(other.older_blocks_, 0)),
        next_slab_(other.next_slab_),
        max_slab_(other.max_slab_),
        limit_(std::exchange(other.limit_, 0)) {}

  friend void swap(grown_run& a, grown_run& b) noexcept
    requires is_swappable
  {
    using std::swap;
    swap(static_cast<plain&>(a), static_cast<plain&>(b));
    swap(a.source_, b.source_);
    swap(a.newest_, b.newest_);
    swap(a.found_last_, b.found_last_);
    swap(a.older_blocks_, b.older_blocks_);
    swap(a.next_slab_, b.next_slab_);
    swap(a.max_slab_, b.max_slab_);
    swap(a.limit_, b.limit_);
  }

  ~grown_run() {
    while (newest_ != nullptr) {
      slab_head* const slab = newest_;
      newest_ = slab->older;
      source_.deallocate(slab, slab->piece_bytes, piece_alignment());
    }
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return older_blocks_ + plain::capacity(); }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t blocks_made() const noexcept { return older_blocks_ + plain::carved(); }

  /// Effects: adds one slab: as many blocks as there are already (so that a pool of n blocks has
  /// O(log n) slabs), within the bounds given; half as many while the source refuses.
  /// Returns: false when the limit is reached or the source has nothing. Requires: all is carved.
  bool grow() noexcept {
    std::size_t count = max_of(min_of(next_slab_, max_slab_), 1);
    if (count > limit_ - capacity()) count = limit_ - capacity();
    for (; count != 0; count /= 2) {
      if (add_slab(count)) {
        next_slab_ = capacity();
        return true;
      }
    }
    return false;
  }
  /// Effects: one slab of exactly `count` blocks, or none. Returns: whether it is there.
  bool add_slab(std::size_t count) noexcept {
    const std::size_t head =
        align_up(sizeof(slab_head), base_alignment(this->shape_, Traits::upkeep));
    std::size_t bytes = run_bytes(this->shape_, Traits::upkeep, count);
    if (count == 0 || bytes == SIZE_MAX || __builtin_add_overflow(bytes, head, &bytes)) {
      return false;
    }
    void* const piece = source_.allocate(bytes, piece_alignment());
    if (piece == nullptr) return false;
    std::byte* const base = static_cast<std::byte*>(piece) + head;
    older_blocks_ = capacity();
    this->set_run(base, count);
    block_state* states = nullptr;
    if constexpr (Traits::tracks_state) states = this->states_;
    newest_ = ::new (piece) slab_head{newest_, bytes, base, this->capacity_, states};
    return true;
  }

  [[nodiscard]] run_cursor first_run() const noexcept {
    return {plain::view(), newest_ == nullptr ? nullptr : newest_->older};
  }
  /// Requires: `older` was in a cursor of a run of this type. An older slab is carved completely.
  [[nodiscard]] run_cursor run_of(const void* older) const noexcept {
    const auto* const s = static_cast<const slab_head*>(older);
    return {{s->base, this->shape_.stride, s->capacity, s->capacity, s->states}, s->older};
  }

  /// Effects: what is there is all there will be.
  void freeze() noexcept { limit_ = capacity(); }

  template <class Visit>
  void each_run(Visit visit) const noexcept {
    for (const slab_head* s = newest_; s != nullptr; s = s->older) {
      visit(run_view{s->base, this->shape_.stride, s->capacity,
                     s == newest_ ? this->carved() : s->capacity, s->states});
    }
  }

  /// Returns: the state of the block at `p` in an older slab, or null if none starts there.
  /// Complexity: O(slabs); O(1) while it is the slab that was found last.
  [[nodiscard]] ASHLAR_COLD block_state* older_state_slow(const void* p) const noexcept {
    if (newest_ == nullptr) return nullptr;
    if (block_state* const state = state_in(found_last_, p)) return state;
    for (const slab_head* s = newest_->older; s != nullptr; s = s->older) {
      if (block_state* const state = state_in(s, p)) {
        found_last_ = s;
        return state;
      }
    }
    return nullptr;
  }

 private:
  [[nodiscard]] block_state* state_in(const slab_head* s, const void* p) const noexcept {
    if (s == nullptr) return nullptr;
    const std::size_t i = this->divisor_.quotient(bytes_from(s->base, p));
    return i < s->capacity ? s->states + i : nullptr;
  }
  [[nodiscard]] std::size_t piece_alignment() const noexcept {
    return this->shape_.alignment > alignof(slab_head) ? this->shape_.alignment
                                                       : alignof(slab_head);
  }

  [[no_unique_address]] Source source_;
  slab_head* newest_ = nullptr;
  mutable const slab_head* found_last_ = nullptr;  ///< an older slab of this run, or null
  std::size_t older_blocks_ = 0;
  std::size_t next_slab_;
  std::size_t max_slab_;
  std::size_t limit_;
};

}  // namespace ashlar::detail
