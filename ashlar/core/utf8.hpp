// core/utf8.hpp: where characters end in a text of bytes that somebody else chose.
// Layer: core.
#pragma once

#include <cstddef>
#include <string_view>

namespace ashlar {

/// Returns: how long the UTF-8 character at the beginning is; 0: it is none. Requires: a byte.
[[nodiscard]] constexpr std::size_t character_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0u) != 0x80) return 0;
  if (length == 1) return 1;
  const unsigned second = byte(1);
  const bool is_too_short = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_no_character =
      (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return is_too_short || is_no_character ? 0 : length;
}

}  // namespace ashlar
