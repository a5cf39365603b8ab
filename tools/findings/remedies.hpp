// tools/findings/remedies.hpp: what each kind of finding is called, and what helps.
// Layer: findings.
#pragma once

#include <span>
#include <string_view>

#include "tools/findings/finding.hpp"

namespace ashlar::findings {

// The lines of examples/findings.cpp that the command shows, as
// join_snippets.cmake took them out.

struct snippet {
  std::string_view name;  ///< "growth_standard": the kind, and whose part it shows
  std::string_view code;  ///< lines, without the last one's end
};
extern const std::span<const snippet> snippets;

struct remedy {
  std::string_view name;      ///< of the kind, as JSON and docs/findings.md have it: "hot_loop"
  std::string_view title;     ///< "Blocks that live for a moment"
  std::string_view words;     ///< what to do, in sentences
  std::string_view standard;  ///< code with the standard library; empty: none
  std::string_view ashlar;    ///< code with ashlar; empty: none
};

/// The code is in the language of the finding's line, where there is any.
[[nodiscard]] remedy remedy_for(const finding& f);

}  // namespace ashlar::findings
