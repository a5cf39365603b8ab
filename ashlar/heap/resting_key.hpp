// heap/resting_key.hpp: the first word of a block that rests, where several threads have caches.
// Layer: heap.
//
//   in use    | the caller's bytes ...                   |
//   resting   | secret ^ address | what the caller left  |
//
// A free writes the key, and finds that a block rests already. A malloc compares the key and clears it,
// and so finds a block that was written to while it rested, or that rests twice. The word lies in a
// line that the program has just used, or is about to use: so no line moves between threads for it.
//
// The key is a random number of the heap, mixed with the address. So a program has it in a block by
// chance once in 2^64 frees, and never because it copied a block that rested to another address.
//
// The word is the program's as well, of any type, and compilers see both in one function. So a reader
// and a writer stand behind a barrier for this one word, which is no instruction: else the compiler
// might drop a store before an object's life begins, or take what an object leaves for garbage.
#pragma once

#include <atomic>
#include <cstdint>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

/// 64 bits everywhere, since 32 would be met by chance.
using resting_key [[gnu::may_alias]] = std::uint64_t;

/// Returns: the key of `block` in the heap with this secret.
[[nodiscard]] ASHLAR_HOT std::uint64_t key_of(std::uint64_t secret, const void* block) noexcept {
  return secret ^ reinterpret_cast<std::uintptr_t>(block);
}

[[nodiscard]] ASHLAR_HOT std::uint64_t first_word(const void* block) noexcept {
  auto* const word = static_cast<resting_key*>(const_cast<void*>(block));
  __asm__ volatile("" : "+m"(*word));
  return *word;
}
/// Returns: whether the first word of `block` is its key.
[[nodiscard]] ASHLAR_HOT bool has_key(std::uint64_t secret, const void* block) noexcept {
  return first_word(block) == key_of(secret, block);
}

/// Effects: the first word of `block` is `value`.
ASHLAR_HOT void set_first_word(void* block, std::uint64_t value) noexcept {
  auto* const word = static_cast<resting_key*>(block);
  *word = value;
  __asm__ volatile("" : "+m"(*word));
}

/// The keys of one heap. They come into use when it gets its second cache, and stay: blocks that rest have them.
class heap_keys {
 public:
  constexpr heap_keys() noexcept = default;

  /// Requires: called once, before any other function; `secret` is not 0.
  void place(std::uint64_t secret) noexcept { secret_ = secret; }
  [[nodiscard]] std::uint64_t secret() const noexcept { return secret_; }

  /// Returns: whether blocks that are freed get keys.
  [[nodiscard]] bool are_in_use() const noexcept { return in_use_.load(); }
  void begin() noexcept { in_use_.store(true); }

  /// Effects: from now on a block that comes back to its slab is cleared of its key, or not any more.
  /// Requires: there is one thread.
  void leave_no_trace(bool on) noexcept { leaves_no_trace_ = on; }
  [[nodiscard]] bool leaves_no_trace() const noexcept { return leaves_no_trace_; }

 private:
  std::uint64_t secret_ = 0;
  bool leaves_no_trace_ = false;
  std::atomic<bool> in_use_{false};
};

}  // namespace ashlar::detail
