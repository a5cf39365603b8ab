// tools/replay/stamp.hpp: what is written into a block and is there when it dies. Layer: replay.
// Law: byte i of a block is byte i % 8 of its stamp; the first and the last 8 bytes are, the others where all are
// touched. A stamp is of the slot and turn of the birth, so no two blocks that live at once have one.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace ashlar::replay {

enum class touch : std::uint8_t { ends, all };

inline std::uint64_t stamp_of(std::uint32_t slot, std::uint32_t turn) {
  return (std::uint64_t{slot} << 32 | turn) * 0x9e3779b97f4a7c15u | 1;
}

namespace detail {

// The stamp as the 8 bytes from `offset` on.
inline std::uint64_t word_at(std::uint64_t stamp, std::uint64_t offset) {
  return std::rotr(stamp, static_cast<int>(offset % 8 * 8));
}
inline std::uint64_t load(const unsigned char* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
inline void store(unsigned char* to, std::uint64_t word) {
  std::memcpy(to, &word, sizeof word);
}

}  // namespace detail

inline void write_stamp(void* block, std::uint64_t size, std::uint64_t stamp, touch which) {
  auto* const bytes = static_cast<unsigned char*>(block);
  if (size < 8) {
    for (std::uint64_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(stamp >> 8 * i);
    return;
  }
  if (which == touch::all)
    for (std::uint64_t i = 0; i + 8 <= size; i += 8) detail::store(bytes + i, stamp);
  detail::store(bytes, stamp);
  detail::store(bytes + size - 8, detail::word_at(stamp, size));
}

/// Whether the first bytes, up to 8 and up to `size`, are the stamp's.
inline bool begins_with_stamp(const void* block, std::uint64_t size, std::uint64_t stamp) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  if (size >= 8) return detail::load(bytes) == stamp;
  bool same = true;
  for (std::uint64_t i = 0; i < size; ++i)
    same &= bytes[i] == static_cast<unsigned char>(stamp >> 8 * i);
  return same;
}

inline bool has_stamp(const void* block, std::uint64_t size, std::uint64_t stamp, touch which) {
  if (!begins_with_stamp(block, size, stamp)) return false;
  if (size < 8) return true;
  const auto* const bytes = static_cast<const unsigned char*>(block);
  if (which == touch::all)
    for (std::uint64_t i = 0; i + 8 <= size; i += 8)
      if (detail::load(bytes + i) != stamp) return false;
  return detail::load(bytes + size - 8) == detail::word_at(stamp, size);
}

inline bool is_zero(const void* block, std::uint64_t size, touch which) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  const std::uint64_t ends = which == touch::all || size < 16 ? size : 8;
  for (std::uint64_t i = 0; i < ends; ++i)
    if (bytes[i] != 0) return false;
  return ends == size || detail::load(bytes + size - 8) == 0;
}

}  // namespace ashlar::replay
