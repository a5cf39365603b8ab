// pages/block_sign.hpp: a block in use, or one that rests: told by a mark beside it, a key in it.
// Layer: pages.
//
//                 alone in the heap     among threads
//   in use        its mark              its mark, and not its key
//   rests         no mark               its mark and its key
//   in its slab   no mark               no mark
//
// Marks touch no block. But threads that are many would take the lines of marks from each other, 64
// marks at a time. So they leave them where they are, and use the key: it lies in a line that the
// program has just used, or is about to use (docs/decisions/0033-marks-and-keys.md).
//
//   blocks of 48 bytes   | 0 in use    | 48 in slab  | 96 in use   | ...
//   windows of 32 bytes  | 0     | 32    | 64    | 96    | ...
//   marks                  0x01    0       0       0xC1
//
// A mark is 0, or the low byte of 2a + 1, where a is the address of a block that starts in its
// window. A window is no longer than a block, so one block at most starts there. It has 128 bytes
// at most, so no two addresses in it have the same mark; and none has the mark 0. A range lies at
// [R, 2R) from its origin (block_tables.hpp), and has a table for each length of a window, 2^shift:
// the windows have the numbers [R >> shift, 2R >> shift), so the tables touch and never overlap.
//
//   address of the mark == table + ((address - origin) >> shift)
//   key of the block    == secret ^ address, its first word while it rests
//
// A free writes the key, and finds that a block rests already. A malloc compares and clears it, and
// finds a block that was written to while it rested, or that rests twice. The secret is the heap's
// random number. So a program has a key by chance once in 2^64 frees, and never by copying a block.
// Compilers see the program's use of that word and ours in one function: so each of ours stands
// behind a barrier, which is no instruction. Else a store before an object's life could be dropped.
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

/// Returns: the logarithm of the windows of blocks of `size` bytes, block_granule at least.
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

[[nodiscard]] ASHLAR_HOT std::uint64_t key_of(std::uint64_t secret, const void* block) noexcept {
  return secret ^ reinterpret_cast<std::uintptr_t>(block);
}

[[nodiscard]] ASHLAR_HOT std::uint64_t first_word(const void* block) noexcept {
  auto* const word = static_cast<first_word_type*>(const_cast<void*>(block));
  __asm__ volatile("" : "+m"(*word));
  return *word;
}
[[nodiscard]] ASHLAR_HOT bool has_key(std::uint64_t secret, const void* block) noexcept {
  return first_word(block) == key_of(secret, block);
}
ASHLAR_HOT void set_first_word(void* block, std::uint64_t value) noexcept {
  auto* const word = static_cast<first_word_type*>(block);
  *word = value;
  __asm__ volatile("" : "+m"(*word));
}

/// The sign that one cache's hits use. `beside` has the address of the mark while it is alone.
class block_sign {
 public:
  /// Returns: the secret of the keys, now; 0 while the owner is alone: then the sign is the mark.
  [[nodiscard]] ASHLAR_HOT std::uint64_t secret() const noexcept {
    return __atomic_load_n(&secret_, __ATOMIC_RELAXED);
  }
  /// Effects: from now on that is the secret. Any thread may call it.
  void use(std::uint64_t secret) noexcept { __atomic_store_n(&secret_, secret, __ATOMIC_RELAXED); }

  /// Effects: leave() takes `block`, which rests, off its stack, then it is in use. Returns: false,
  /// with nothing done, if it lacks its key. A signal handler that forks between the two leaves its
  /// child a block that is on no stack; the other way round it would be on one without its key.
  template <class Leave>
  [[nodiscard]] ASHLAR_HOT bool wake(void* const& beside, void* block, Leave leave) const noexcept {
    if (const std::uint64_t secret = this->secret(); secret == 0) {
      leave();
      *static_cast<block_mark*>(beside) = mark_of(block);
    } else {
      if (!has_key(secret, block)) [[unlikely]]
        return false;
      leave();
      __asm__ volatile("" : : : "memory");  // a compiler keeps the order
      set_first_word(block, 0);
    }
    return true;
  }

  /// Effects: `block`, whose mark is at `mark`, rests. Returns: false, and nothing has changed, if
  /// `Looks` and no block in use starts there. The branch for keys is the one that falls through: a
  /// thread that is alone does not notice, and among threads a pair takes a cycle less (Zen 3).
  template <bool Looks>
  [[nodiscard]] ASHLAR_HOT bool put_to_rest(block_mark* mark, void*& beside,
                                            void* block) const noexcept {
    if (Looks && *mark != mark_of(block)) [[unlikely]]
      return false;
    if (const std::uint64_t secret = this->secret(); secret == 0) [[unlikely]] {
      *mark = 0;
      beside = mark;
    } else {
      if (Looks && has_key(secret, block)) [[unlikely]]
        return false;
      set_first_word(block, key_of(secret, block));
    }
    return true;
  }

  /// Returns: whether a block in use starts at `block`, whose mark would be at `mark`.
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
