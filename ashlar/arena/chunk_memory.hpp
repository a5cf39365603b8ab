// arena/chunk_memory.hpp: an arena's memory that grows by chunks from a page source.
// Layer: arena (freestanding). Includes: core. Not for users: arena<Source> is built of it.
//
//   first -> ... -> current -> spare -> spare      `older` points left, `newer` right
//   full chunks     bump       kept by rewind
//
// Invariants: spares are empty; every chunk between the first and the current one has bytes in use,
//   so giving back the last of the current one makes the chunk before it current again;
//   held_bytes == the sum of piece_bytes over all chunks <= max_bytes.
// Law of growth: a miss takes the next spare. A spare that is too small for the request goes back
//   to the source, so each is looked at once, and none lies idle in the budget. If none is left a
//   new chunk comes: what was held before, as in doubling, within [first_chunk_bytes,
//   max_chunk_bytes], or just the request where that is more. A program that repeats itself between
//   resets therefore asks the source in its first round only, and one that does not ends up with
//   fewer and larger chunks. What is left of a chunk at a miss is less than the request was, so at
//   most half of the bytes in use are lost there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/arena/bounded_memory.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/poison.hpp>

namespace ashlar {

/// How an arena on a page source grows. All in bytes as the source is asked for them; the head of a
/// chunk (six words) is among them.
struct arena_growth {
  std::size_t first_chunk_bytes = 4096;    ///< the least to ask for
  std::size_t max_chunk_bytes = SIZE_MAX;  ///< the most, except for a request that needs more
  std::size_t max_bytes = SIZE_MAX;        ///< never more than this in all
};

namespace detail {

struct chunk {
  chunk* older;
  chunk* newer;
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
  ASHLAR_HOT void fall(std::size_t to) noexcept {
    poison(base_ + to, used() - to);
    top_ = base_ + to;
    if (to == 0 && current_->older != nullptr) [[unlikely]] {
      make_current(current_->older, current_->older->left_used);
    }
  }

  /// Effects: the law of growth. Returns: whether the current chunk now has room for the request
  /// wherever its first byte is.
  [[nodiscard]] bool make_room(std::size_t size, std::size_t block_alignment) noexcept {
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
    while (chunk* const spare = first_spare()) {
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

  // The start has no piece, so that it stays the same when the first chunk comes or goes.
  [[nodiscard]] static constexpr arena_position start() noexcept { return {}; }
  [[nodiscard]] arena_position place_of_top() const noexcept {
    return at_start() ? start() : arena_position{current_, used()};
  }
  /// Complexity: O(chunks above the position).
  [[nodiscard]] bool reaches(arena_position position) const noexcept {
    if (position.piece == nullptr) return true;
    std::size_t used = this->used();
    for (const chunk* c = current_; c != nullptr; c = c->older) {
      if (c == position.piece) return position.used <= used;
      if (c->older != nullptr) used = c->older->left_used;
    }
    return false;
  }
  void rewind(arena_position position) noexcept {
    chunk* to = const_cast<chunk*>(static_cast<const chunk*>(position.piece));
    if (to == nullptr) to = first_;
    if (to == nullptr) return;
    if constexpr (address_sanitizer) {
      for (chunk* c = current_; c != to; c = c->older) poison(payload(c), limit_of(c));
      poison(payload(to) + position.used, limit_of(to) - position.used);
    }
    make_current(to, position.used);
  }
  [[nodiscard]] std::size_t trim() noexcept {
    const std::size_t before = held_bytes_;
    while (chunk* const spare = first_spare()) release(spare);
    if (current_ != nullptr && at_start()) {
      release(current_);
      forget_current();
    }
    return before - held_bytes_;
  }

  /// Complexity: O(chunks).
  [[nodiscard]] bool owns(const void* p) const noexcept {
    for (chunk* c = first_; c != nullptr; c = c->newer) {
      if (bytes_from(payload(c), p) < limit_of(c)) return true;
    }
    return false;
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
  [[nodiscard]] bool at_start() const noexcept { return current_ == first_ && top_ == base_; }
  [[nodiscard]] chunk* first_spare() const noexcept {
    return current_ != nullptr ? current_->newer : first_;
  }
  [[nodiscard]] std::size_t bytes_up_to_current() const noexcept {
    if (current_ == nullptr) return 0;
    return current_->bytes_before + limit() + current_->number * head_bytes;
  }

  void make_current(chunk* c, std::size_t used) noexcept {
    current_ = c;
    base_ = payload(c);
    top_ = base_ + used;
    end_ = base_ + limit_of(c);
  }
  void forget_current() noexcept {
    current_ = nullptr;
    base_ = top_ = end_ = nullptr;
  }
  /// Effects: `c`, which is the one after the current chunk, becomes the current one.
  void enter(chunk* c) noexcept {
    c->number = 1;
    c->bytes_before = 0;
    if (current_ != nullptr) {
      current_->left_used = used();
      c->number += current_->number;
      c->bytes_before = current_->bytes_before + limit();
    }
    make_current(c, 0);
  }

  /// Effects: a piece of `wanted` bytes within the budget, half as much while the source refuses,
  /// but never less than `least`; behind the current chunk. Requires: there is no spare; `least`
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
    auto* const c = ::new (piece) chunk{current_, nullptr, wanted, 0, 0, 0};
    (current_ != nullptr ? current_->newer : first_) = c;
    held_bytes_ += wanted;
    ++chunks_;
    poison(payload(c), limit_of(c));
    return c;
  }
  /// Effects: `c` leaves the list and goes back to the source.
  void release(chunk* c) noexcept {
    (c->older != nullptr ? c->older->newer : first_) = c->newer;
    if (c->newer != nullptr) c->newer->older = c->older;
    held_bytes_ -= c->piece_bytes;
    --chunks_;
    unpoison(payload(c), limit_of(c));
    source_.deallocate(c, c->piece_bytes, alignment);
  }
  void release_all() noexcept {
    while (first_ != nullptr) release(first_);
    forget_current();
  }
  /// Requires: this has no chunk. Effects: `other` has none, and will get none.
  void take_chunks(chunk_memory& other) noexcept {
    base_ = std::exchange(other.base_, nullptr);
    top_ = std::exchange(other.top_, nullptr);
    end_ = std::exchange(other.end_, nullptr);
    current_ = std::exchange(other.current_, nullptr);
    first_ = std::exchange(other.first_, nullptr);
    held_bytes_ = std::exchange(other.held_bytes_, 0);
    chunks_ = std::exchange(other.chunks_, 0);
    other.growth_.max_bytes = 0;
  }

  std::byte* top_ = nullptr;
  std::byte* end_ = nullptr;
  std::byte* base_ = nullptr;
  chunk* current_ = nullptr;
  chunk* first_ = nullptr;
  std::size_t held_bytes_ = 0;
  std::size_t chunks_ = 0;
  arena_growth growth_;
  [[no_unique_address]] Source source_;
};

}  // namespace detail
}  // namespace ashlar
