// tools/files/text.hpp: the parts of a text, and text of formats that write some characters in their own way. Layer: files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
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
