// support/pattern.hpp: bytes that say to which block they belong.
// Law: byte i depends on the key and on i only, so that a prefix keeps its pattern when the block
// is reallocated, and two blocks with different keys differ in every word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace support {

inline std::uint64_t pattern_word(std::uint64_t key, std::size_t index) noexcept {
  return (key * 0x9e3779b97f4a7c15u) ^ (static_cast<std::uint64_t>(index) * 0xff51afd7ed558ccdu);
}

/// Writes the pattern of `key` into bytes [from, to) of the block; `from` is rounded down to 8.
inline void fill_pattern(void* block, std::uint64_t key, std::size_t to,
                         std::size_t from = 0) noexcept {
  auto* bytes = static_cast<unsigned char*>(block);
  std::size_t at = from / 8 * 8;
  for (; at + 8 <= to; at += 8) {
    const std::uint64_t word = pattern_word(key, at / 8);
    std::memcpy(bytes + at, &word, 8);
  }
  if (at < to) {
    const std::uint64_t word = pattern_word(key, at / 8);
    std::memcpy(bytes + at, &word, to - at);
  }
}

/// Returns the offset of the first byte of [from, size) that is not the pattern's, or `size`; `from` is
/// rounded down to 8.
inline std::size_t find_damage(const void* block, std::uint64_t key, std::size_t size,
                               std::size_t from = 0) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(block);
  for (std::size_t at = from / 8 * 8; at < size; at += 8) {
    const std::uint64_t word = pattern_word(key, at / 8);
    const std::size_t length = size - at < 8 ? size - at : 8;
    // A comparison of eight bytes is an instruction, one of some bytes a call.
    if (length == 8 ? std::memcmp(bytes + at, &word, 8) == 0
                    : std::memcmp(bytes + at, &word, length) == 0)
      continue;
    unsigned char expected[8];
    std::memcpy(expected, &word, 8);
    for (std::size_t i = 0; i < length; ++i) {
      if (bytes[at + i] != expected[i]) return at + i;
    }
  }
  return size;
}

/// Returns the offset of the first byte of [0, size) that is not 0, or `size`.
inline std::size_t find_nonzero(const void* block, std::size_t size) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(block);
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    if (word != 0) break;
  }
  for (; at < size; ++at) {
    if (bytes[at] != 0) return at;
  }
  return size;
}

}  // namespace support
