// core/free_list.hpp: a stack of free blocks, linked through the blocks themselves.
// Layer: core (freestanding). One caller at a time.
// Invariant: each block is on the list at most once, and its first sizeof(void*) bytes are the
// address of the next.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/memory_tools.hpp>

namespace ashlar::detail {

struct free_block {
  free_block* next;
};

/// Returns: the block under `p`, which is closed to tools and stays so. For walks, not for the hit
/// path.
[[nodiscard, gnu::noinline, gnu::no_sanitize_address]] inline const free_block* next_of(
    const free_block* p) noexcept {
  tell_looking();
  const free_block* const next = p->next;
  tell_looked();
  return next;
}

/// Last in, first out: the block that was used last is the one most likely in the cache.
class free_list {
 public:
  constexpr free_list() noexcept = default;
  constexpr free_list(free_list&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  /// Requires: the blocks of this list, if it has any, are nobody's any more.
  constexpr free_list& operator=(free_list&& other) noexcept {
    head_ = std::exchange(other.head_, nullptr);
    return *this;
  }

  [[nodiscard]] const free_block* head() const noexcept { return head_; }

  /// Requires: `p` is aligned for a pointer, and is not on the list. O(1).
  ASHLAR_HOT void push(void* p) noexcept {
    tell_open(p, sizeof(free_block));  // part of the slack, where the block is smaller than a link
    head_ = ::new (p) free_block{head_};
  }

  /// Returns: the block pushed last, or null. O(1).
  ASHLAR_HOT void* pop() noexcept {
    free_block* const p = head_;
    if (p != nullptr) [[likely]] {
      tell_open(p, sizeof(free_block));
      head_ = p->next;
    }
    return p;
  }

 private:
  free_block* head_ = nullptr;
};

}  // namespace ashlar::detail
