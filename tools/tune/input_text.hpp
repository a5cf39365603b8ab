// tools/tune/input_text.hpp: what something was chosen from, in the comments of what is written. Layer: tune.
#pragma once

#include <string>

namespace ashlar::tune {

/// Returns: a file's name without what would end a comment's line: control characters, and a backslash at its end.
[[nodiscard]] inline std::string in_comment(const std::string& file) {
  std::string shown;
  for (const char c : file) shown += static_cast<unsigned char>(c) < ' ' || c == '\\' ? '?' : c;
  return shown;
}

}  // namespace ashlar::tune
