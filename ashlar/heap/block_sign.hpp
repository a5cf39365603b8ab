// heap/block_sign.hpp: what tells a block in use from one that rests: a mark beside it, a key in
// it.
// Layer: heap.
//
//                 alone in the heap     among threads
//   in use        its mark              its mark, and not its key
//   rests         no mark               its mark and its key
//   in its slab   no mark               no mark
//
// A thread that is alone takes the mark away when it frees a block, and gives it back when it
// allocates one: that touches no block. Threads that are many would take the lines of marks from
// each other, 64 marks at a time. So they leave the mark where it is, and use the key, which lies
// in a line that the program has just used, or is about to use
// (docs/decisions/0033-marks-and-keys.md). `block_sign` is both to a hit; block_use.hpp is both to
// a miss.
//
// Marks: a byte for each place where a block may start.
//
//   blocks of 48 bytes   | 0 in use    | 48 in slab  | 96 in use   | ...
//   windows of 32 bytes  | 0     | 32    | 64    | 96    | ...
//   marks                  0x01    0       0       0xC1
//
// The mark of a window is 0, or the low byte of 2a + 1, where a is the address of a block that
// starts there. A window is no longer than a block, so at most one block starts in it. It has at
// most 128 bytes, so no two addresses in it have the same mark. And no address has the mark 0.
//
// The marks of a range have a table for each length of a window:
//
//   address of the mark == table + ((address - origin) >> shift)
//
// The range lies at [R, 2R) from its origin (block_tables.hpp). So the windows of length 2^s have
// the numbers [R >> s, 2R >> s), and the tables touch each other and never overlap.
//
// Keys: the first word of a block that rests.
//
//   in use    | the caller's bytes ...                   |
//   resting   | secret ^ address | what the caller left  |
//
// A free writes the key, and finds that a block rests already. A malloc compares the key and clears
// it, and so finds a block that was written to while it rested, or that rests twice. The secret is
// a random number of the heap. So a program has a key in a block by chance once in 2^64 frees, and
// never because it copied a block that rested to another address.
//
// The word is the program's as well, of any type, and compilers see both in one function. So a
// reader and a writer stand behind a barrier for this one word, which is no instruction: else the
// compiler might drop a store before an object's life begins, or take what an object leaves for
// garbage.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>

namespace ashlar::detail {

/// A mark: 0, or what `mark_of` says of the address of a block.
using block_mark = std::uint8_t;

/// The binary logarithms of the shortest and the longest window.
inline constexpr unsigned mark_shift_min = std::countr_zero(block_granule);
inline constexpr unsigned mark_shift_max = 7;

/// Returns: the logarithm of the windows of blocks of `size` bytes. Requires: size >=
/// block_granule.
[[nodiscard]] constexpr std::uint8_t mark_shift_of(std::size_t size) noexcept {
  return static_cast<std::uint8_t>(
      std::min(static_cast<unsigned>(std::bit_width(size)) - 1, mark_shift_max));
}

/// Returns: the mark of the block at `address`.
[[nodiscard]] ASHLAR_HOT block_mark mark_of(const void* address) noexcept {
  return static_cast<block_mark>(2 * reinterpret_cast<std::uintptr_t>(address) + 1);
}

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

/// The sign that the hits of one cache read and write. `beside` is where a cache has the address of
/// a block's mark while its owner is alone.
class block_sign {
 public:
  constexpr block_sign() noexcept = default;  ///< that of an owner who is alone

  /// Returns: the secret of the keys, now; 0 while the owner is alone: then the sign is the mark.
  [[nodiscard]] ASHLAR_HOT std::uint64_t secret() const noexcept {
    return __atomic_load_n(&secret_, __ATOMIC_RELAXED);
  }
  /// Effects: from now on that is the secret. Any thread may call it.
  void use(std::uint64_t secret) noexcept { __atomic_store_n(&secret_, secret, __ATOMIC_RELAXED); }

  /// Effects: `block`, which rests, is in use from now on. Returns: false, and nothing has changed,
  /// if it has not its key.
  [[nodiscard]] ASHLAR_HOT bool wake(void* const& beside, void* block) const noexcept {
    if (const std::uint64_t secret = this->secret(); secret == 0) {
      *static_cast<block_mark*>(beside) = mark_of(block);
    } else {
      if (!has_key(secret, block)) [[unlikely]]
        return false;
      set_first_word(block, 0);
    }
    return true;
  }

  /// Effects: `block`, whose mark is at `mark`, rests from now on. Returns: false, and nothing has
  /// changed, if `Looks` and no block in use starts there.
  template <bool Looks>
  [[nodiscard]] ASHLAR_HOT bool put_to_rest(block_mark* mark, void*& beside,
                                            void* block) const noexcept {
    if (Looks && *mark != mark_of(block)) [[unlikely]]
      return false;
    if (const std::uint64_t secret = this->secret(); secret == 0) {
      *mark = 0;
      beside = mark;
    } else {
      if (Looks && has_key(secret, block)) [[unlikely]]
        return false;
      set_first_word(block, key_of(secret, block));
    }
    return true;
  }

  /// Returns: whether a block in use starts at `block`. Requires: `mark` is where its mark would
  /// be.
  [[nodiscard]] ASHLAR_HOT bool is_in_use(const block_mark* mark,
                                          const void* block) const noexcept {
    if (*mark != mark_of(block)) [[unlikely]]
      return false;
    const std::uint64_t secret = this->secret();
    return secret == 0 || !has_key(secret, block);
  }

 private:
  std::uint64_t secret_ = 0;  ///< who gets the second cache sets it
};

}  // namespace ashlar::detail
