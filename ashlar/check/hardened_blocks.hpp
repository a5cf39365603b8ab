// check/hardened_blocks.hpp: what the hardened edition keeps in each block, and where freed blocks
// wait.
// Layer: check.
//
//   a live block:  | the caller's bytes | canary, up to 71 bytes | ... zeros ... | word, 8 bytes |
//   a large one:   | the caller's bytes | canary, up to 71 bytes | ... zeros ... | closed page
//   a free block:  | zeros ...................................................................... |
//
// A large block fills its pages, so that its last byte may be before the closed page. What its word
// would say is in the page heap's record, of which no overflow can write (`note_of`).
//
// The word has the size that was asked for and the family of calls that made the block. Both are
// mixed with the process's secrets and the address. So a free sees at once: bytes written behind
// the block, a block that is free already, an address inside a block, a size or a family that is
// wrong.
//
// Law: every byte of a block that the heap has and no caller, is zero. A new block is therefore
// zero, and one that is not was written to after its free.
// Thread-safety: a block has one owner at a time. `freed_blocks` and `random_numbers` are one
// thread's.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// What all words of a process depend on. 192 bits; the factors are odd.
struct block_secrets {
  std::uint64_t before = 0;
  std::uint64_t first_factor = 1;
  std::uint64_t second_factor = 1;
};

/// The calls that belong together. `any` fits all others.
enum class block_family : std::uint8_t { none, any, c, cxx, cxx_array };

[[nodiscard]] constexpr bool are_matching(block_family a, block_family b) noexcept {
  return a == b || a == block_family::any || b == block_family::any;
}

/// What a word says.
struct block_label {
  std::size_t size = 0;
  block_family family = block_family::none;  ///< none: the word is no word of a live block
};

/// What a look sees of a block.
struct block_sight {
  bool is_live = false;
  std::size_t size = 0;  ///< that was asked for; the block's own where the word is spoilt
  const std::byte* spoilt =
      nullptr;  ///< the first byte behind the size that was written to; null: none
};

/// 16 bytes at once, in one register where the machine has such.
using block_granule_bits [[gnu::vector_size(block_granule)]] = std::uint64_t;

inline constexpr std::size_t label_bytes = sizeof(std::uint64_t);
/// So many whole words of canary stand behind the caller's bytes, if there is room for them.
inline constexpr std::size_t canary_words_max = 8;
/// Of a block above this size, the first so many bytes are looked at when it is handed out.
inline constexpr std::size_t looked_at_bytes_max = 1024;

/// Reads and writes the words of blocks. Every address is a multiple of 8; every block is one of
/// 16.
class block_words {
 public:
  constexpr block_words() noexcept = default;
  constexpr explicit block_words(const block_secrets& secrets) noexcept : secrets_(secrets) {}

  /// Effects: `block`, of `bytes`, is a live one of `size` bytes. Requires: size + 8 <= bytes; the
  /// bytes behind `size` are zero. O(1).
  ASHLAR_HOT void seal(void* block, std::size_t bytes, std::size_t size,
                       block_family family) const noexcept {
    const std::uint64_t key = key_of(block);
    put_canary(block, bytes, size, canary_of(key));
    store_word(block, bytes, word_of(key, size, family));
  }
  /// Effects: as `seal`, but for the word. Of a block without one, `bytes` is label_bytes more than
  /// it has.
  void seal_end(void* block, std::size_t bytes, std::size_t size) const noexcept {
    put_canary(block, bytes, size, canary_of(key_of(block)));
  }
  /// Returns: what the page heap notes of a large block, never 0; and what such a note says.
  [[nodiscard]] static constexpr std::uint64_t note_of(block_label label) noexcept {
    return label.size | static_cast<std::uint64_t>(label.family) << size_bits;
  }
  [[nodiscard]] static constexpr block_label label_of_note(std::uint64_t note) noexcept {
    return {static_cast<std::size_t>(note & size_mask),
            static_cast<block_family>(note >> size_bits)};
  }

  /// Returns: what the last word of `block`, of `bytes`, says. O(1).
  [[nodiscard]] ASHLAR_HOT block_label label_of(const void* block,
                                                std::size_t bytes) const noexcept {
    return label_in(load_word(block, bytes), key_of(block), bytes);
  }

  /// Returns: what is seen of `block`, of `bytes`, by one who does not own it. The word is read
  /// once. O(1).
  [[nodiscard]] block_sight sight_of(const void* block, std::size_t bytes) const noexcept {
    const std::uint64_t word = look_at_word(block, bytes);
    if (word == 0) return {};
    const block_label label = label_in(word, key_of(block), bytes);
    if (label.family == block_family::none)
      return {true, bytes, static_cast<const std::byte*>(block) + bytes - label_bytes};
    return {true, label.size, first_spoilt(block, bytes, label.size)};
  }

  /// Returns: whether the last word of `block`, of `bytes`, is zero, as a free block's is.
  [[nodiscard]] static bool is_zero(const void* block, std::size_t bytes) noexcept {
    return load_word(block, bytes) == 0;
  }

  /// Returns: the first byte of the canary behind `size` bytes that is not as `seal` left it; null
  /// when all are. Of a block without a word, `bytes` is as for `seal_end`; also below. O(1).
  [[nodiscard]] ASHLAR_HOT const std::byte* first_spoilt(const void* block, std::size_t bytes,
                                                         std::size_t size) const noexcept {
    const auto* const begin = static_cast<const std::byte*>(block);
    const std::uint64_t canary = canary_of(key_of(block));
    const std::byte* const word = begin + bytes - label_bytes;
    const std::byte* p = begin + align_down(size, label_bytes);
    if (const unsigned odd = bits_before(size); odd != 0 && p < word) {
      if (const std::uint64_t differs = (load_beside_owner(p) ^ canary << odd) >> odd; differs != 0)
          [[unlikely]]
        return begin + size + first_byte_of(differs);
      p += label_bytes;
    }
    for (const std::byte* const end = end_of_canary(p, word); p < end; p += label_bytes)
      if (const std::uint64_t differs = load(p) ^ canary; differs != 0) [[unlikely]]
        return p + first_byte_of(differs);
    return nullptr;
  }

  /// Effects: `block` has no word any more. Its canary and its caller's bytes are as they were.
  /// O(1).
  ASHLAR_HOT static void take_word(void* block, std::size_t bytes) noexcept {
    store_word(block, bytes, 0);
  }
  /// Effects: `block`, which was sealed so, has no canary any more; those bytes are zero. Requires:
  /// it has no word. O(1).
  static void unseal(void* block, std::size_t bytes, std::size_t size) noexcept {
    auto* const begin = static_cast<std::byte*>(block);
    std::memset(begin + size, 0, canary_end(bytes, size) - size);
  }

  /// Effects: all bytes of `block`, which was sealed so, are zero. Requires: it has no word.
  /// O(size).
  ASHLAR_HOT static void clear(void* block, std::size_t bytes, std::size_t size) noexcept {
    auto* const begin = static_cast<std::byte*>(block);
    if (bytes <= called_clear_min) [[likely]] {
      const block_granule_bits zero{};
      for (std::byte* at = begin; at != begin + bytes; at += sizeof zero) {
        std::memcpy(at, &zero, sizeof zero);
        asm volatile("" : : : "memory");  // else the compiler calls memset
      }
    } else if (bytes <= paged_clear_min) {
      std::memset(begin, 0, canary_end(bytes, size));
    } else {
      clear_pages(begin, begin + canary_end(bytes, size));
    }
  }

 private:
  static constexpr unsigned size_bits = 48;
  static constexpr std::uint64_t size_mask = (std::uint64_t{1} << size_bits) - 1;
  static constexpr std::size_t called_clear_min = 256;  ///< above it memset is faster
  static constexpr std::size_t paged_clear_min = 8192;
  static constexpr std::uint64_t families = 4;  ///< those that a live block may have

  /// Effects: the bytes are zero. A page that is zero is not written: one that its owner never
  /// wrote is in no memory.
  static void clear_pages(std::byte* begin, std::byte* end) noexcept {
    while (begin != end) {
      constexpr std::size_t page_bytes = std::size_t{1} << heap_page_shift;
      const std::size_t to_next = page_bytes - reinterpret_cast<std::uintptr_t>(begin) % page_bytes;
      const std::size_t bytes = std::min(to_next, static_cast<std::size_t>(end - begin));
      if (*begin != std::byte{0} || std::memcmp(begin, begin + 1, bytes - 1) != 0)
        std::memset(begin, 0, bytes);
      begin += bytes;
    }
  }

  /// Words are in memory as a little-endian machine has them: the byte that an overflow meets first
  /// is the lowest.
  [[nodiscard]] static std::uint64_t in_order(std::uint64_t x) noexcept {
    if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(x);
    return x;
  }
  [[nodiscard]] static std::uint64_t load(const std::byte* p) noexcept {
    std::uint64_t x;
    std::memcpy(&x, p, sizeof x);
    return in_order(x);
  }
  /// As load, of a word whose first bytes are the caller's. A look drops them: their owner may
  /// write them meanwhile.
  [[nodiscard, gnu::no_sanitize_thread]] static std::uint64_t load_beside_owner(
      const std::byte* p) noexcept {
    std::uint64_t x;
    std::memcpy(&x, p, sizeof x);
    return in_order(x);
  }
  static void store(std::byte* p, std::uint64_t x) noexcept {
    x = in_order(x);
    std::memcpy(p, &x, sizeof x);
  }
  using word_in_block [[gnu::may_alias]] = std::uint64_t;
  [[nodiscard]] static std::uint64_t load_word(const void* block, std::size_t bytes) noexcept {
    return load(static_cast<const std::byte*>(block) + bytes - label_bytes);
  }
  /// As load_word, for a thread that does not own the block: when it sees a word, the canary is
  /// there, too.
  [[nodiscard]] static std::uint64_t look_at_word(const void* block, std::size_t bytes) noexcept {
    const void* const at = static_cast<const std::byte*>(block) + bytes - label_bytes;
    return in_order(__atomic_load_n(static_cast<const word_in_block*>(at), __ATOMIC_ACQUIRE));
  }
  static void store_word(void* block, std::size_t bytes, std::uint64_t x) noexcept {
    void* const at = static_cast<std::byte*>(block) + bytes - label_bytes;
    __atomic_store_n(static_cast<word_in_block*>(at), in_order(x), __ATOMIC_RELEASE);
  }
  [[nodiscard]] static unsigned bits_before(std::size_t size) noexcept {
    return static_cast<unsigned>(size % label_bytes) * 8;
  }
  [[nodiscard]] static std::ptrdiff_t first_byte_of(std::uint64_t differs) noexcept {
    return std::countr_zero(differs) / 8;
  }
  ASHLAR_HOT static void put_canary(void* block, std::size_t bytes, std::size_t size,
                                    std::uint64_t canary) noexcept {
    auto* const begin = static_cast<std::byte*>(block);
    std::byte* const word = begin + bytes - label_bytes;
    std::byte* p = begin + align_down(size, label_bytes);
    if (const unsigned odd = bits_before(size); odd != 0 && p < word) {
      store(p, (load(p) & ((std::uint64_t{1} << odd) - 1)) | canary << odd);
      p += label_bytes;
    }
    for (std::byte* const end = end_of_canary(p, word); p < end; p += label_bytes) store(p, canary);
  }
  template <class Byte>
  [[nodiscard]] static Byte* end_of_canary(Byte* from, Byte* word) noexcept {
    const std::ptrdiff_t most = canary_words_max * label_bytes;
    return word - from <= most ? word : from + most;
  }
  /// Returns: where the canary ends, as an offset in the block.
  [[nodiscard]] static std::size_t canary_end(std::size_t bytes, std::size_t size) noexcept {
    return std::min(bytes - label_bytes,
                    align_up(size, label_bytes) + canary_words_max * label_bytes);
  }

  /// A finaliser of two multiplications: not a cipher, but no two addresses have words of which one
  /// tells the other.
  [[nodiscard]] ASHLAR_HOT std::uint64_t key_of(const void* block) const noexcept {
    std::uint64_t x =
        (reinterpret_cast<std::uintptr_t>(block) ^ secrets_.before) * secrets_.first_factor;
    x = (x ^ x >> 32) * secrets_.second_factor;
    return x ^ x >> 29;
  }
  /// No byte of it is 0: strings that are too long by their end are seen.
  [[nodiscard]] static std::uint64_t canary_of(std::uint64_t key) noexcept {
    return key | 0x0101010101010101u;
  }
  [[nodiscard]] static std::uint64_t word_of(std::uint64_t key, std::size_t size,
                                             block_family family) noexcept {
    const std::uint64_t said = size | static_cast<std::uint64_t>(family) << size_bits;
    return (said ^ key >> 8) << 8 | (canary_of(key) & 0xff);
  }

  /// Returns: what a block's word says, read with the block's key.
  [[nodiscard]] ASHLAR_HOT static block_label label_in(std::uint64_t word, std::uint64_t key,
                                                       std::size_t bytes) noexcept {
    const std::uint64_t said = (word >> 8) ^ (key >> 8);
    const auto size = static_cast<std::size_t>(said & size_mask);
    const auto family = said >> size_bits;
    if ((word & 0xff) != (canary_of(key) & 0xff) || family - 1 >= families ||
        (said & size_mask) > bytes - label_bytes) [[unlikely]]
      return {};
    return {size, static_cast<block_family>(family)};
  }

  block_secrets secrets_;
};

/// Returns: the first byte of [p, p + bytes) that is not zero; null when all are. Requires: `bytes`
/// is a multiple of 16, and p one of 8.
[[nodiscard]] ASHLAR_HOT const std::byte* first_not_zero(const void* p,
                                                         std::size_t bytes) noexcept {
  const auto* const begin = static_cast<const std::byte*>(p);
  block_granule_bits all{};
  const std::byte* const end = begin + bytes;
  for (const std::byte* at = begin; at != end; at += sizeof all) {
    block_granule_bits bits;
    std::memcpy(&bits, at, sizeof bits);
    all |= bits;
  }
  if ((all[0] | all[1]) == 0) [[likely]]
    return nullptr;
  return std::find_if(begin, begin + bytes, [](std::byte b) { return b != std::byte{0}; });
}

/// Numbers that a program's input cannot choose: a linear congruential generator of 64 bits, of
/// which the upper half is used. It hides an order from whoever cannot see addresses. It is no
/// cipher.
class random_numbers {
 public:
  constexpr void seed(std::uint64_t value) noexcept { state_ = value | 1u; }
  /// Returns: a number below `end`, not 0.
  [[nodiscard]] ASHLAR_HOT std::uint32_t below(std::uint32_t end) noexcept {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(((state_ >> 32) * end) >> 32);
  }

 private:
  std::uint64_t state_ = 0;
};

/// A thread's freed blocks, which the heap has not got back yet. A freed block takes a slot of its
/// class at random, and the block that was there leaves.
///
/// Invariant: held_bytes_ is the sum of the sizes of the blocks in all slots.
class freed_blocks {
 public:
  static constexpr std::size_t blocks_max = 64;        ///< that wait, of one class
  static constexpr std::size_t bytes_max = 16 * 1024;  ///< of them, but for one block
  /// All threads together hold so much, each an equal part. A thread that is idle when others begin
  /// keeps what it has, so N threads hold no more than this times 1 + ln N.
  static constexpr std::size_t bytes_of_all = std::size_t{2} << 20;

  /// How many blocks of `block_size` wait.
  [[nodiscard]] static constexpr std::size_t slots_for(std::size_t block_size) noexcept {
    return std::clamp<std::size_t>(bytes_max / block_size, 1, blocks_max);
  }

  /// Requires: zeroed memory.
  template <class BlockSize>
  void start(std::size_t classes, BlockSize block_size) noexcept {
    std::size_t first = 0;
    for (std::size_t c = 1; c < classes; ++c) {
      const std::size_t slots = slots_for(block_size(static_cast<class_index>(c)));
      rings_[c] = {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(slots)};
      first += slots;
    }
  }

  /// Effects: `block`, of `bytes`, waits. Returns: the block that leaves for it; null while there
  /// is room. Where more would wait than `share()` bytes, it is the block itself.
  template <class Share>
  [[nodiscard]] ASHLAR_HOT void* exchange(class_index c, void* block, std::size_t bytes,
                                          Share share) noexcept {
    const ring r = rings_[c];
    void*& slot = blocks_[r.first + random.below(r.slots)];
    if (slot == nullptr) [[unlikely]] {
      if (held_bytes_ + bytes > share()) return block;
      held_bytes_ += bytes;
    }
    return std::exchange(slot, block);
  }

  /// Effects: nothing waits any more; calls give(class, block) for each block. O(slots).
  template <class Give>
  void empty(Give give) noexcept {
    held_bytes_ = 0;
    for (std::size_t c = 1; c < class_count; ++c)
      for (std::size_t i = 0; i < rings_[c].slots; ++i)
        if (void* const block = std::exchange(blocks_[rings_[c].first + i], nullptr);
            block != nullptr)
          give(static_cast<class_index>(c), block);
  }

  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }

  random_numbers random;  ///< of the thread whose blocks these are; seeded by it

 private:
  struct ring {
    std::uint16_t first = 0;
    std::uint16_t slots = 0;
  };

  std::size_t held_bytes_ = 0;
  std::array<ring, class_count> rings_{};
  /// One class's ring behind the other: what no class uses is never touched.
  std::array<void*, class_count * blocks_max> blocks_{};
};
static_assert(class_count * freed_blocks::blocks_max <= UINT16_MAX);

// Blocks of no bytes, at addresses that cannot be accessed.
//   | marks, a byte a block | granules of 16 bytes, one a block; no access is possible |
//   ^ mapping               ^ begin
// An address comes back after all others had their turn, so a second free is found until then.
// Invariant: a mark is the family of the live block at its granule; none (0): there is no live one.
// Thread-safety: any caller at any time. No lock.

class zero_blocks {
 public:
  /// So many at once. They take 4 MiB of addresses, and as many bytes of marks as were ever in
  /// turn.
  static constexpr std::size_t blocks_max = std::size_t{1} << 18;

  constexpr zero_blocks() noexcept = default;
  zero_blocks(const zero_blocks&) = delete;
  zero_blocks& operator=(const zero_blocks&) = delete;

  /// Returns: a block at a multiple of `alignment`, a power of two; null when few are free, the
  /// alignment is too large, or the system refuses. Two system calls the first time, and O(1).
  [[nodiscard]] void* allocate(std::size_t alignment, block_family family) noexcept {
    char* const begin = started();
    const std::size_t step = std::max(alignment, block_granule) / block_granule;
    if (begin == nullptr || step > blocks_max / tries) return nullptr;
    for (std::size_t i = 0; i != tries; ++i) {
      const std::size_t at = next_.fetch_add(step, std::memory_order_relaxed) * block_granule;
      auto place = reinterpret_cast<std::uintptr_t>(begin) + at % addresses;
      place = align_up(place, alignment);
      auto* const block = reinterpret_cast<char*>(place);
      block_family nobody = block_family::none;
      if (contains(block) &&
          mark_of(block).compare_exchange_strong(nobody, family, std::memory_order_relaxed))
        return block;
    }
    return nullptr;
  }

  /// Returns: whether `address` lies where these blocks do.
  [[nodiscard]] bool contains(const void* address) const noexcept {
    const char* const begin = begin_.load(std::memory_order_acquire);
    return begin != nullptr &&
           reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin) <
               addresses;
  }
  /// Returns: the family of the live block at `address`; none if none starts there. Requires:
  /// contains(address).
  [[nodiscard]] block_family family_of(const void* address) const noexcept {
    return is_aligned(address, block_granule) ? mark_of(address).load(std::memory_order_relaxed)
                                              : block_family::none;
  }
  /// Effects: the block at `address` is free. Returns: false when another thread was faster.
  /// Requires: one was live.
  [[nodiscard]] bool free(const void* address) noexcept {
    return mark_of(address).exchange(block_family::none, std::memory_order_relaxed) !=
           block_family::none;
  }

 private:
  using mark = std::atomic<block_family>;
  static_assert(sizeof(mark) == 1);
  static constexpr std::size_t addresses = blocks_max * block_granule;
  static constexpr std::size_t tries = 64;

  [[nodiscard]] mark& mark_of(const void* address) const noexcept {
    char* const begin = begin_.load(std::memory_order_acquire);
    const auto at = static_cast<std::size_t>(static_cast<const char*>(address) - begin);
    return reinterpret_cast<mark*>(begin - blocks_max)[at / block_granule];
  }
  [[nodiscard]] char* started() noexcept {
    char* begin = begin_.load(std::memory_order_acquire);
    return begin != nullptr ? begin : start();
  }
  [[nodiscard]] ASHLAR_COLD char* start() noexcept {
    void* const mapping = os::system_space::reserve(blocks_max + addresses);
    if (mapping == nullptr) return nullptr;
    char* begin = static_cast<char*>(mapping) + blocks_max;
    char* others = nullptr;
    if (os::system_space::commit(mapping, blocks_max) &&
        begin_.compare_exchange_strong(others, begin, std::memory_order_acq_rel))
      return begin;
    os::system_space::release(mapping, blocks_max + addresses);
    return others;
  }

  std::atomic<char*> begin_{nullptr};
  std::atomic<std::size_t> next_{0};
};

}  // namespace ashlar::detail
