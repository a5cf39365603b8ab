// arena/chunk_memory.hpp: an arena's memory that grows by chunks from a page source.
// Layer: arena (freestanding). Not for users: arena<Source> is built of it.
//
//   in use:  current -> the one before it -> ... -> the first      (linked by `next`)
//   kept:    spare -> spare -> ...                                 in the order they will be used
//
// Invariants: spares are empty, and no chunk in use is but perhaps the first: any other becomes the
//   first spare with its last byte (the first stays, so that a scope on an empty arena has no
//   miss). held_bytes == the sum of piece_bytes over all chunks <= max_bytes.
// Law of growth: a miss takes the first spare. A spare that is too small for the request goes back
//   to the source, so each is looked at once, and none lies idle in the budget. If none is left a
//   new chunk comes: what was held before, as in doubling, within [first_chunk_bytes,
//   max_chunk_bytes], or just the request where that is more. A program that repeats itself between
//   resets therefore asks the source in its first round only, and one that does not ends up with
//   fewer and larger chunks. What is left of a chunk at a miss is less than the request and its
//   alignment, so at most half of the bytes in use are lost there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/arena/bounded_memory.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/page_source.hpp>

namespace ashlar {

/// How an arena on a page source grows. All in bytes as the source is asked for them; the head of a
/// chunk (48 bytes on 64-bit systems) is among them.
struct arena_growth {
  std::size_t first_chunk_bytes = 4096;    ///< the least to ask for
  std::size_t max_chunk_bytes = SIZE_MAX;  ///< the most, except for a request that needs more
  std::size_t max_bytes = SIZE_MAX;        ///< never more than this in all
};

namespace detail {

struct chunk {
  chunk* next;  ///< the one before it, or the next spare
  std::size_t piece_bytes;
  std::size_t number;        ///< 1 for the first
  std::size_t bytes_before;  ///< limits of all chunks before it, bytes; known when it is entered
  std::size_t left_used;     ///< bytes in use when the one after it was entered
};

template <page_source Source>
class chunk_memory {
 public:
  static constexpr bool grows = true;
  static constexpr std::size_t alignment = alignof(std::max_align_t);
  static constexpr std::size_t head_bytes = align_up(sizeof(chunk), alignment);

  chunk_memory(arena_growth growth, Source source) noexcept
      : growth_(growth), source_(std::move(source)) {}
  chunk_memory(chunk_memory&& other) noexcept
    requires std::is_move_constructible_v<Source>
      : growth_(other.growth_), source_(std::move(other.source_)) {
    take_chunks(other);
  }
  chunk_memory& operator=(chunk_memory&& other) noexcept
    requires std::is_move_assignable_v<Source>
  {
    release_all();
    growth_ = other.growth_;
    source_ = std::move(other.source_);
    take_chunks(other);
    return *this;
  }
  ~chunk_memory() { release_all(); }

  // The current chunk: what the hit path looks at.
  [[nodiscard]] ASHLAR_HOT std::byte* base() const noexcept { return base_; }
  [[nodiscard]] ASHLAR_HOT std::byte* top() const noexcept { return top_; }
  [[nodiscard]] ASHLAR_HOT std::size_t room() const noexcept { return bytes_from(top_, end_); }
  [[nodiscard]] ASHLAR_HOT std::size_t used() const noexcept { return bytes_from(base_, top_); }
  [[nodiscard]] ASHLAR_HOT std::size_t limit() const noexcept { return bytes_from(base_, end_); }
  [[nodiscard]] ASHLAR_HOT std::size_t padding(std::size_t block_alignment) const noexcept {
    return padding_at(top_, block_alignment);
  }
  ASHLAR_HOT void raise(std::size_t n) noexcept { top_ += n; }
  /// Who owns the blocks of the current chunk, for tools: the chunk.
  [[nodiscard]] ASHLAR_HOT const void* owner() const noexcept { return current_; }
  ASHLAR_HOT void fall(std::size_t to) noexcept {
    if constexpr (tools_present) tell_closed(base_ + to, used() - to);
    top_ = base_ + to;
    if (to == 0 && current_->next != nullptr) [[unlikely]]
      leave_current();
  }

  /// Effects: the law of growth. Returns: whether the current chunk now has room for the request
  /// wherever its first byte is.
  [[nodiscard]] bool make_room(std::size_t size, std::size_t block_alignment) noexcept {
    leave_if_empty();  // so that a first chunk too small for the request does not lie idle
    // The source is asked for `alignment` only: more of it is paid for with room.
    const std::size_t skip = block_alignment > alignment ? block_alignment - alignment : 0;
    std::size_t least = 0;
    if (__builtin_add_overflow(size, skip, &least) ||
        __builtin_add_overflow(least, head_bytes, &least) ||
        least > growth_.max_bytes - bytes_up_to_current()) {
      return false;
    }
    std::size_t wanted = held_bytes_;
    if (wanted < growth_.first_chunk_bytes) wanted = growth_.first_chunk_bytes;
    if (wanted > growth_.max_chunk_bytes) wanted = growth_.max_chunk_bytes;
    while (spares_ != nullptr) {
      chunk* const spare = std::exchange(spares_, spares_->next);
      if (spare->piece_bytes >= least) {
        enter(spare);
        return true;
      }
      release(spare);
    }
    chunk* const fresh = take_piece(least, wanted);
    if (fresh == nullptr) return false;
    enter(fresh);
    return true;
  }

  // The start names no chunk, so it stays the same whichever chunk is the first.
  [[nodiscard]] static constexpr arena_position start() noexcept { return {}; }
  [[nodiscard]] arena_position place_of_top() const noexcept {
    return top_ == base_ ? start() : arena_position{current_, used()};
  }
  /// Complexity: O(chunks above the position).
  [[nodiscard]] bool reaches(arena_position position) const noexcept {
    std::size_t used = this->used();
    for (const chunk* c = current_; c != position.piece; c = c->next) {
      if (c == nullptr) return false;
      if (c->next != nullptr) used = c->next->left_used;
    }
    return position.piece == nullptr || position.used <= used;
  }
  /// Complexity: O(chunks above the position).
  void rewind(arena_position position) noexcept {
    while (current_ != position.piece && current_->next != nullptr) leave_current();
    if (current_ == nullptr) return;
    if constexpr (tools_present) tell_cut(current_, base_, position.used, used());
    fall(position.used);
  }
  [[nodiscard]] std::size_t trim() noexcept {
    const std::size_t before = held_bytes_;
    leave_if_empty();
    while (spares_ != nullptr) release(std::exchange(spares_, spares_->next));
    return before - held_bytes_;
  }

  /// Complexity: O(chunks).
  [[nodiscard]] bool owns(const void* p) const noexcept {
    return is_in(current_, p) || is_in(spares_, p);
  }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return held_bytes_ - chunks_ * head_bytes;
  }
  [[nodiscard]] std::size_t used_bytes() const noexcept {
    return current_ == nullptr ? 0 : current_->bytes_before + used();
  }
  [[nodiscard]] std::size_t chunks() const noexcept { return chunks_; }

 private:
  [[nodiscard]] static std::byte* payload(chunk* c) noexcept {
    return reinterpret_cast<std::byte*>(c) + head_bytes;
  }
  [[nodiscard]] static std::size_t limit_of(const chunk* c) noexcept {
    return c->piece_bytes - head_bytes;
  }
  [[nodiscard]] static bool is_in(chunk* list, const void* p) noexcept {
    for (chunk* c = list; c != nullptr; c = c->next) {
      if (bytes_from(payload(c), p) < limit_of(c)) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t bytes_up_to_current() const noexcept {
    if (current_ == nullptr) return 0;
    return current_->bytes_before + limit() + current_->number * head_bytes;
  }

  /// Effects: allocations come from `c`, or from nowhere if it is null.
  void make_current(chunk* c, std::size_t used) noexcept {
    current_ = c;
    base_ = c != nullptr ? payload(c) : nullptr;
    top_ = c != nullptr ? base_ + used : nullptr;
    end_ = c != nullptr ? base_ + limit_of(c) : nullptr;
  }
  /// Effects: `c`, which is on no list, becomes the current chunk.
  void enter(chunk* c) noexcept {
    c->next = current_;
    c->number = 1;
    c->bytes_before = 0;
    if (current_ != nullptr) {
      current_->left_used = used();
      c->number += current_->number;
      c->bytes_before = current_->bytes_before + limit();
    }
    make_current(c, 0);
  }
  /// Effects: the current chunk becomes the first spare, the one before it the current one.
  void leave_current() noexcept {
    chunk* const left = current_;
    if constexpr (tools_present) tell_cut(left, base_, 0, used());
    make_current(left->next, left->next != nullptr ? left->next->left_used : 0);
    left->next = spares_;
    spares_ = left;
  }

  void leave_if_empty() noexcept {
    if (current_ != nullptr && top_ == base_) leave_current();
  }

  /// Effects: a piece of `wanted` bytes within the budget, half as much while the source refuses,
  /// but never less than `least`. Requires: there is no spare; `least`
  /// is within the budget. Returns: null if the source has none.
  [[nodiscard]] chunk* take_piece(std::size_t least, std::size_t wanted) noexcept {
    const std::size_t budget = growth_.max_bytes - held_bytes_;
    if (wanted > budget) wanted = budget;
    if (wanted < least) wanted = least;
    void* piece = source_.allocate(wanted, alignment);
    while (piece == nullptr && wanted != least) {
      wanted = wanted / 2 > least ? wanted / 2 : least;
      piece = source_.allocate(wanted, alignment);
    }
    if (piece == nullptr) return nullptr;
    auto* const c = ::new (piece) chunk{nullptr, wanted, 0, 0, 0};
    held_bytes_ += wanted;
    ++chunks_;
    if constexpr (tools_present) tell_closed(payload(c), limit_of(c));
    return c;
  }
  /// Effects: `c`, which is on no list, goes back to the source.
  void release(chunk* c) noexcept {
    held_bytes_ -= c->piece_bytes;
    --chunks_;
    tell_ended(c);
    if constexpr (tools_present) tell_returned(c, payload(c), limit_of(c));
    source_.deallocate(c, c->piece_bytes, alignment);
  }
  void release_all() noexcept {
    rewind(start());
    static_cast<void>(trim());
  }
  /// Requires: this has no chunk. Effects: `other` has none, and will get none.
  void take_chunks(chunk_memory& other) noexcept {
    base_ = std::exchange(other.base_, nullptr);
    top_ = std::exchange(other.top_, nullptr);
    end_ = std::exchange(other.end_, nullptr);
    current_ = std::exchange(other.current_, nullptr);
    spares_ = std::exchange(other.spares_, nullptr);
    held_bytes_ = std::exchange(other.held_bytes_, 0);
    chunks_ = std::exchange(other.chunks_, 0);
    other.growth_.max_bytes = 0;
  }

  std::byte* top_ = nullptr;
  std::byte* end_ = nullptr;
  std::byte* base_ = nullptr;
  chunk* current_ = nullptr;
  chunk* spares_ = nullptr;
  std::size_t held_bytes_ = 0;
  std::size_t chunks_ = 0;
  arena_growth growth_;
  [[no_unique_address]] Source source_;
};

}  // namespace detail
}  // namespace ashlar
