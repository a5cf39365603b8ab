// tools/files/text.hpp: the parts of a text, numbers in it, and text of formats that write some characters in their own way. Layer: files.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ashlar::files {

/// Returns: the parts of a text, each ended by `end`; the last one may have none.
inline std::vector<std::string_view> parts_of(std::string_view text, char end) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find(end), text.size());
    parts.push_back(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return parts;
}

/// Returns: the number that the text is; nothing for any other text.
template <class Number = std::uint64_t>
std::optional<Number> number_in(std::string_view text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Returns: two hexadecimal digits for each byte.
inline std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}
/// Returns: the bytes of which these are the digits; nothing for any other text.
inline std::optional<std::string> bytes_of_hexadecimal(std::string_view digits) {
  std::string bytes;
  for (; digits.size() > 1; digits.remove_prefix(2)) {
    const auto byte = number_in<unsigned char>(digits.substr(0, 2), 16);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return digits.empty() ? std::optional(bytes) : std::nullopt;
}

struct written_character {
  char character;
  std::string_view as;
};

/// Returns: the text, with each of these characters as the format writes it.
inline std::string escaped(std::string_view text,
                           std::initializer_list<written_character> special) {
  std::string made;
  for (const char c : text) {
    const auto* const found = std::ranges::find(special, c, &written_character::character);
    made += found != special.end() ? found->as : std::string_view(&c, 1);
  }
  return made;
}

/// Returns: text of an XML or HTML file, in double quotes, too.
inline std::string escaped_for_xml(std::string_view text) {
  return escaped(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

}  // namespace ashlar::files
