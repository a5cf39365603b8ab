// tools/tune/input_text.hpp: what something was chosen from, in the comments of what is written. Layer: tune.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/tune/input_file.hpp"

namespace ashlar::tune {

/// Returns: a file's name without what would end a comment's line: control characters, and a backslash at its end.
[[nodiscard]] inline std::string in_comment(const std::string& file) {
  std::string shown;
  for (const char c : file) shown += static_cast<unsigned char>(c) < ' ' || c == '\\' ? '?' : c;
  return shown;
}

/// Returns: the inputs as lines of a comment, which begin with `mark`.
[[nodiscard]] inline std::string inputs_comment(const std::vector<input_identity>& inputs,
                                                const std::string& mark) {
  std::string lines;
  for (const input_identity& input : inputs) {
    lines += fmt::format("{}   {} {}\n", mark, input.sha256, in_comment(input.file));
    if (const std::string gaps = text_of(input.gaps); !gaps.empty())
      lines += fmt::format("{}     as far as it was recorded: {}\n", mark, gaps);
  }
  return lines;
}

}  // namespace ashlar::tune
