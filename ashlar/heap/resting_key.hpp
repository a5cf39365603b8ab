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

#include <cstdint>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

/// 64 bits everywhere, since 32 would be met by chance.
using first_word_type [[gnu::may_alias]] = std::uint64_t;

/// Returns: the key of `block` in the heap with this secret.
[[nodiscard]] ASHLAR_HOT std::uint64_t key_of(std::uint64_t secret, const void* block) noexcept {
  return secret ^ reinterpret_cast<std::uintptr_t>(block);
}

/// Returns: the first word of `block`.
[[nodiscard]] ASHLAR_HOT std::uint64_t first_word(const void* block) noexcept {
  auto* const word = static_cast<first_word_type*>(const_cast<void*>(block));
  __asm__ volatile("" : "+m"(*word));
  return *word;
}
/// Returns: whether the first word of `block` is its key.
[[nodiscard]] ASHLAR_HOT bool has_key(std::uint64_t secret, const void* block) noexcept {
  return first_word(block) == key_of(secret, block);
}

/// Effects: the first word of `block` is `value`.
ASHLAR_HOT void set_first_word(void* block, std::uint64_t value) noexcept {
  auto* const word = static_cast<first_word_type*>(block);
  *word = value;
  __asm__ volatile("" : "+m"(*word));
}

}  // namespace ashlar::detail
