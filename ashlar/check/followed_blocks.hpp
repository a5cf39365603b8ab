// check/followed_blocks.hpp: the live blocks that a thread has allocated in test scopes, by
// address. Layer: check.
//
// A table with open addressing: a block is at the place that its address tells, or behind that,
// with no free place in between. Invariant: at most 3/4 of the places are taken.
// Thread-safety: none. Memory of its own, from the system: the heap is what is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/os/page_source.hpp>

namespace ashlar::detail {

struct followed_block {
  const void* address = nullptr;  ///< null: the place is free
  std::size_t size = 0;           ///< as it was asked for
  std::uint64_t number = 0;       ///< of the allocation; counts from 1
};

class followed_blocks {
 public:
  constexpr followed_blocks() noexcept = default;
  followed_blocks(const followed_blocks&) = delete;
  followed_blocks& operator=(const followed_blocks&) = delete;
  ~followed_blocks() { release(places_, capacity_); }

  /// Effects: adds a block. Returns: false when memory was refused. Requires: none is there at its
  /// address, which is not null. O(1) amortised.
  [[nodiscard]] bool add(const followed_block& block) noexcept {
    if (count_ + 1 > capacity_ / 4 * 3 && !grow()) return false;
    put(block);
    ++count_;
    return true;
  }

  /// Effects: the block at `address` is there no longer. Returns: it; a free place when there was
  /// none. O(1) expected.
  followed_block take(const void* address) noexcept {
    if (count_ == 0) return {};
    std::size_t at = place_of(address);
    while (places_[at].address != address) {
      if (places_[at].address == nullptr) return {};
      at = next(at);
    }
    const followed_block taken = places_[at];
    free_place(at);
    --count_;
    return taken;
  }

  /// Effects: calls visit(block) for each, in no order. O(places).
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (std::size_t i = 0; i < capacity_; ++i)
      if (places_[i].address != nullptr) visit(places_[i]);
  }

  /// Effects: takes every block out for which drop(block) is true, once at least. O(places).
  template <class Drop>
  void remove_if(Drop drop) noexcept {
    for (std::size_t i = 0; i < capacity_;) {
      if (places_[i].address != nullptr && drop(places_[i])) {
        free_place(i);  // another block may be here now
        --count_;
      } else {
        ++i;
      }
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  static constexpr std::size_t first_capacity =
      2048;  ///< 48 KiB, of which only touched pages cost memory

  [[nodiscard]] std::size_t next(std::size_t at) const noexcept {
    return (at + 1) & (capacity_ - 1);
  }
  [[nodiscard]] std::size_t place_of(const void* address) const noexcept {
    // Fibonacci hashing, as block_records.hpp.
    const auto hash =
        (std::uint64_t{reinterpret_cast<std::uintptr_t>(address)} >> 4) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(hash >> 32) & (capacity_ - 1);
  }
  void put(const followed_block& block) noexcept {
    std::size_t at = place_of(block.address);
    while (places_[at].address != nullptr) at = next(at);
    places_[at] = block;
  }
  /// Effects: frees a place; blocks behind it that would not be found any more move (Knuth, The Art
  /// of Computer Programming 3, 6.4, algorithm R).
  void free_place(std::size_t at) noexcept {
    for (std::size_t i = next(at); places_[i].address != nullptr; i = next(i)) {
      const std::size_t wanted = place_of(places_[i].address);
      // Whether `wanted` lies in (at, i], around the end of the table.
      if (((i - wanted) & (capacity_ - 1)) < ((i - at) & (capacity_ - 1))) continue;
      places_[at] = places_[i];
      at = i;
    }
    places_[at] = {};
  }

  [[nodiscard]] bool grow() noexcept {
    const std::size_t wider = capacity_ == 0 ? first_capacity : capacity_ * 2;
    auto* const fresh = static_cast<followed_block*>(
        os::page_source::allocate(wider * sizeof(followed_block), alignof(followed_block)));
    if (fresh == nullptr) return false;
    followed_block* const old = places_;
    const std::size_t old_capacity = capacity_;
    places_ = fresh;
    capacity_ = wider;
    for (std::size_t i = 0; i < old_capacity; ++i)
      if (old[i].address != nullptr) put(old[i]);
    release(old, old_capacity);
    return true;
  }
  static void release(followed_block* places, std::size_t capacity) noexcept {
    os::page_source::deallocate(places, capacity * sizeof(followed_block), alignof(followed_block));
  }

  followed_block* places_ = nullptr;
  std::size_t capacity_ = 0;  ///< 0 or a power of two
  std::size_t count_ = 0;
};

}  // namespace ashlar::detail
