// tools/json/text.hpp: JSON as text. Layer: json. Includes nothing of the project.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ashlar::json_files {

/// Returns: the text; `indent` -1: in one line, without blanks. JSON is UTF-8, and the name of a file or a program may be
/// any bytes: what is none is U+FFFD.
[[nodiscard]] inline std::string text_of(const nlohmann::json& all, int indent = -1) {
  return all.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace ashlar::json_files
