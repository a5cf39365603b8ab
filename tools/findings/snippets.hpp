// tools/findings/snippets.hpp: the lines of examples/findings.cpp that the command shows, as
// join_snippets.cmake took them out. Layer: findings.
#pragma once

#include <span>
#include <string_view>

namespace ashlar::findings {

struct snippet {
  std::string_view name;  ///< "growth_standard": the kind, and whose part it shows
  std::string_view code;  ///< lines, without the last one's end
};
extern const std::span<const snippet> snippets;

}  // namespace ashlar::findings
