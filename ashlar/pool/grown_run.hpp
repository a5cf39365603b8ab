// pool/grown_run.hpp: blocks from a page source, slab by slab: those of a fixed_pool that grows.
// Layer: pool (freestanding). Not for users: the pools are built of these.
//
//   newest -> older -> older     slabs; one of them is in use, and the pool has its fields at hand
//   freed  -> slab -> ...        slabs not in use that have free blocks
//
// Invariant: that of every run (run_traits.hpp), for each slab, and that of the class below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/pool/block_layout.hpp>
#include <ashlar/pool/block_run.hpp>
#include <ashlar/pool/run_traits.hpp>

namespace ashlar::detail {

/// The head of a piece that came from a page source; the run's links and blocks follow it. Where
/// blocks are numbered, each slab has a list of its own: a number then says where the block is
/// without a search.
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
/// Invariant: every slab but the newest is carved completely; blocks_made == capacity() - what the
/// newest has not carved <= limit. A slab is on the stack of freed ones iff it is not in use and
/// its list is not empty.
template <class Traits, class Shape, class Source>
class grown_run : public block_run<Traits, Shape> {
  using plain = block_run<Traits, Shape>;
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

  /// Effects: adds one slab, which is then in use: as many blocks as there are already (so that a
  /// pool of n blocks has O(log n) slabs), within the bounds given; half as many while the source
  /// refuses. Of a source whose memory costs nothing before it is used seven times as many, and at
  /// least `least_populated` bytes: only blocks of the slab in use hit. Returns: false when the
  /// limit is reached or the source has nothing. Requires: all is carved.
  bool grow() noexcept {
    std::size_t count = max_of(min_of(next_slab_, max_slab_), 1);
    if (count > limit_ - capacity()) count = limit_ - capacity();
    count = min_of(count, Traits::max_blocks);
    for (; count != 0; count /= 2) {
      if (add_slab(count)) {
        next_slab_ = capacity();
        if constexpr (populating_source<Source>)
          next_slab_ = max_of(7 * next_slab_, least_populated / max_of(this->stride(), 1));
        return true;
      }
    }
    return false;
  }
  /// Effects: one slab of exactly `count` blocks, in use then, or none. Returns: whether it is
  /// there.
  bool add_slab(std::size_t count) noexcept {
    const std::size_t head = align_up(sizeof(slab), base_alignment(this->slot(), Traits::upkeep));
    std::size_t bytes = run_bytes(this->slot(), Traits::upkeep, count);
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
  bool use_freed_slab() noexcept {
    if (freed_ == nullptr) return false;
    slab* const before = in_use_;
    put_in_use(std::exchange(freed_, freed_->next_freed));
    if (before->mark.first() != 0) before->next_freed = std::exchange(freed_, before);
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
  /// Effects: the block is free. Its slab is in use if the block that was put free aside before was
  /// one of it too: others will follow, and they are hits then. Requires: `place` has a slab, and
  /// the block is not free.
  ASHLAR_COLD void put_free_aside(block_place place) noexcept {
    if (freed_ == place.of) {
      use_freed_slab();
      return this->mark_.push(this->links(), place.number);
    }
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
    const std::size_t n =
        this->shape_.divisor().quotient(reinterpret_cast<std::uintptr_t>(p) - s->origin);
    return n - Traits::first_index < s->mark.carved() ? block_place{s, n} : block_place{};
  }
  [[nodiscard]] run_view view_of(const slab& s) const noexcept {
    if (&s == in_use_) return plain::view();
    const auto* const base =
        reinterpret_cast<const std::byte*>(s.origin + Traits::first_index * this->slot().stride);
    return {base, this->slot().stride, s.capacity, s.mark.carved(), s.links};
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
    return this->slot().alignment > alignof(slab) ? this->slot().alignment : alignof(slab);
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
